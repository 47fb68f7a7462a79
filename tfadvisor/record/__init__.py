"""Recording: a program that is started, a block of Python, a job that runs elsewhere. Traces come out, and their report."""
