"""A store's runs over time, as a page."""
