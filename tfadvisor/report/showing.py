"""A page shown where the user is: inside the notebook, else in a browser."""

from __future__ import annotations

import sys
import tempfile
from html import escape
from pathlib import Path

from tfadvisor.errors import UsageError
from tfadvisor.files import replace_file


def show_page(page: str, height: int) -> None:
    """height: of the frame in a notebook, pixels. Raises UsageError where neither notebook nor browser is at hand."""
    if in_notebook():
        from IPython.display import HTML, display

        frame = f'<iframe style="width:100%;border:0" height="{int(height)}" srcdoc="{escape(page)}"></iframe>'
        display(HTML(frame))
        return
    import webbrowser

    file = Path(tempfile.mkdtemp(prefix="tfadvisor-")) / "report.html"
    replace_file(file, page)
    if not webbrowser.open(file.as_uri()):
        raise UsageError("there is no notebook and no browser here. to_html(FILE) writes the page.")


def in_notebook() -> bool:
    """Whether cells are shown by a front end that draws HTML."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    shell = get_ipython()
    return shell is not None and hasattr(shell, "kernel")
