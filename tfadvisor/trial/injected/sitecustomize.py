"""Python imports this before the program. It starts the clock, then the `sitecustomize` that would have been imported."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def start_clock() -> None:
    """Whatever goes wrong here is one line, and the parent finds no answer."""
    if sys.version_info < (3, 8):
        return
    try:
        import tfadvisor_trial_hook

        tfadvisor_trial_hook.install()
    except Exception as error:
        sys.stderr.write("tfadvisor: this process is not timed: %s: %s\n" % (type(error).__name__, error))  # noqa: UP031


def run_the_next() -> None:
    """Imports the `sitecustomize` of the user or the distribution, under its name and from its place."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    sys.path[:] = [one for one in sys.path if os.path.abspath(one or os.curdir) != HERE]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


start_clock()
run_the_next()
