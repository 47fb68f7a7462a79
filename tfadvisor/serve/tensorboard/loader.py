"""What TensorBoard imports when it starts. Nothing here may fail: it would keep
TensorBoard from starting.
"""

from __future__ import annotations

import logging
from typing import Any

from tensorboard.plugins import base_plugin


class AdvisorLoader(base_plugin.TBLoader):  # type: ignore[misc]
    """Makes the tab, or says why there is none and leaves TensorBoard as it is."""

    def load(self, context: Any) -> Any:
        """The plugin; None when something that it needs cannot be imported."""
        try:
            from tfadvisor.serve.tensorboard.plugin import (
                AdvisorPlugin,
            )  # its failure is caught here

            return AdvisorPlugin(context)
        except Exception as error:
            logging.getLogger("tfadvisor").warning(
                "The tab Advisor cannot be shown: %s: %s", type(error).__name__, error
            )
            return None
