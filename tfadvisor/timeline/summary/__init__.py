"""A host reduced to what metrics ask."""
