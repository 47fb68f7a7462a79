"""One run of the program: what it gets, how it is ended, what it answers."""
