"""Candidates against the program as it is: patches and settings, in turns, without the profiler; and what came of promises."""
