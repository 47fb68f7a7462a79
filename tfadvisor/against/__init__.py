"""The gate without a store: a commit and what is checked out are recorded in turns, and judged as pairs."""
