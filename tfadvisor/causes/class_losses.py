"""Losses of Keras over classes that a program makes once."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tfadvisor.causes.called import calls_in
from tfadvisor.causes.source_files import ParsedFile
from tfadvisor.causes.witness import function_around

_LOSS = re.compile(
    r"\A(?:tensorflow\.keras|keras|tf_keras)\.losses\.(?:Sparse)?CategoricalCrossentropy\Z"
)


def loss_over_classes(files: Sequence[ParsedFile]) -> tuple[str, int, str] | None:
    """(file, line, function around it) of the only call that makes one; None for none
    or several.
    """
    found = [
        (parsed, call.lineno)
        for parsed in files
        for call in calls_in(parsed.tree)
        if _LOSS.match(parsed.names.called(call).path)
    ]
    if len(found) != 1:
        return None
    parsed, line = found[0]
    around = function_around(parsed.tree, line)
    return parsed.file, line, "" if around is None else around.name
