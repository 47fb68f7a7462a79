"""A page in a browser, with what it says on the console and what it asks the network
for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class Opened:
    """One page, without a network."""

    def __init__(
        self,
        browser: Any,
        file: Path,
        hash_: str = "",
        *,
        unfolded: bool = True,
        **context: Any,
    ) -> None:
        """unfolded: whether all that is folded is opened at once."""
        self.context = browser.new_context(
            **{"viewport": {"width": 1440, "height": 900}, "offline": True, **context}
        )
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda message: (
                self.errors.append(message.text) if message.type != "log" else None
            ),
        )
        self.page.goto(file.as_uri() + hash_)
        self.page.locator("main:not([aria-busy])").wait_for()
        if not unfolded:
            return
        self.page.evaluate(
            "document.querySelectorAll('.folded').forEach(one => { one.open = true; })"
        )

    def see_everything(self) -> None:
        """Scrolls through, so that charts that wait to be seen are drawn."""
        for section in self.page.locator("section").all():
            section.scroll_into_view_if_needed()
            self.page.wait_for_timeout(50)
