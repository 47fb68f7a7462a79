"""A launcher that starts two processes, each of which trains by itself, as torchrun does."""

import subprocess
import sys
from pathlib import Path

program = Path(__file__).parent / "jax_loop.py"
workers = [subprocess.Popen([sys.executable, str(program), sys.argv[1]]) for _ in range(2)]
sys.exit(max(worker.wait() for worker in workers))
