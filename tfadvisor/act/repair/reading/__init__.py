"""A program as a tree, and the questions that several codemods ask of it."""
