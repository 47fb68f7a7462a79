"""Acts on the user's program. Each package below has a face, which others import from:
`record`, `repair`, `trial` and `against`.
"""
