"""What a recorded program loads before its first line. Python 3.8 and newer, standard
library only.

The folder is put on PYTHONPATH, so `sitecustomize` and the package `tfadvisor_hook` are
imported from it by their bare names.
"""
