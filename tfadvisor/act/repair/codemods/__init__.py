"""One function a codemod: where its fault stands in a program, and how the program is
without it. Cases stand beside.
"""
