"""`python -m jax_package 500`."""

import sys

from jax_loop import train

train(int(sys.argv[1]))
