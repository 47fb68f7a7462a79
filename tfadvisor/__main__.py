"""`python -m tfadvisor` is the command."""

from tfadvisor.cli.entry import run

if __name__ == "__main__":
    run()
