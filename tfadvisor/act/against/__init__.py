"""Two commits recorded in turns."""
