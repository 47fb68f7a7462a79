"""The cells of a notebook, run by IPython: the last one recorded as a block, as often as the third argument says.

Steps before it and between are not recorded.
"""

import sys

from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shell.run_cell("from jax_loop import *\nparams = [jnp.ones((256, 64)) * 0.01, jnp.ones((64, 8)) * 0.01]\ntrain(50)")
shell.run_cell("import tfadvisor")
for _ in range(int(sys.argv[3]) if sys.argv[3:] else 1):
    shell.run_cell(f"with tfadvisor.profile({sys.argv[2]!r}):\n    train({sys.argv[1]})")
    shell.run_cell("train(200)")
