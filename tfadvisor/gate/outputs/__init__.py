"""The verdict in the forms that people and CI systems read."""
