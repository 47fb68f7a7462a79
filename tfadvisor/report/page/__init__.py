"""What the HTML page and the tab draw."""
