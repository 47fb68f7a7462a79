"""What a tried program loads before its first line. Python 3.8 and newer, standard
library only.

The folder is put on PYTHONPATH before that of `tfadvisor run`'s hook, whose letters and
compilations it shares.
"""
