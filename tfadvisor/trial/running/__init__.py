"""One run of the program: what it is told, how it is ended, what it answers."""
