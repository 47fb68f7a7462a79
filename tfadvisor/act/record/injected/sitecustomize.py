"""Python imports this before the program. It starts the hooks beside it on the path,
then the `sitecustomize` that it hides.
"""

import os
import sys

HOOKS = (("tfadvisor_trial_hook", "timed"), ("tfadvisor_hook", "recorded"))
"""Of `tfadvisor try` and of `tfadvisor run`; each looks whether its command has started
this process.
"""


def start_hooks():
    # type: () -> list[str]
    """Their folders. Whatever goes wrong here is one line; the program runs as it
    would.
    """
    folders = [os.path.dirname(os.path.abspath(__file__))]
    for name, done in HOOKS:
        try:
            hook = __import__(name)
            package = os.path.dirname(os.path.abspath(str(hook.__file__)))
            folders.append(os.path.dirname(package))
            hook.install()
        except Exception as error:
            # Not on the path: the other command has started this process.
            if getattr(error, "name", None) == name:
                continue
            sys.stderr.write(
                "tfadvisor: this process is not %s: %s: %s\n"  # noqa: UP031
                % (done, type(error).__name__, error)
            )
    return folders


def run_the_next(ours):
    # type: (list[str]) -> None
    """Imports the `sitecustomize` of the user or the distribution, under its name and
    from its place. ours: folders.
    """
    sys.path[:] = [
        folder
        for folder in sys.path
        if os.path.abspath(folder or os.curdir) not in ours
    ]
    if sys.version_info < (3, 5):
        import_as_python_2()
        return

    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def import_as_python_2():
    # type: () -> None
    """The same, where there is nothing but `import`."""
    ours = sys.modules.pop("sitecustomize")
    try:
        __import__("sitecustomize")
    except ImportError:
        sys.modules["sitecustomize"] = ours


if sys.version_info >= (3, 8):
    run_the_next(start_hooks())
else:
    run_the_next([os.path.dirname(os.path.abspath(__file__))])
