"""What a trial says, as text and as JSON."""
