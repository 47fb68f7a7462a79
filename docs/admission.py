"""What a stable rule of the catalogue needs: a reason at every bound, a source or two
confirmations, and a trace.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from tfadvisor.advice.loading.limits import bounds_of
from tfadvisor.advice.loading.rule import Rule

_VENDORS = (
    "cloud.google.com",
    "docs.jax.dev",
    "docs.kernel.org",
    "docs.pytorch.org",
    "flax.readthedocs.io",
    "keras.io",
    "man7.org",
    "openxla.org",
    "rocm.docs.amd.com",
    "www.tensorflow.org",
)
_REPOSITORIES = (
    "google",
    "google-deepmind",
    "jax-ml",
    "keras-team",
    "nvidia",
    "openxla",
    "pytorch",
    "rocm",
    "tensorflow",
)
"""Owners on github.com."""
_CONFIRMATIONS = 2
"""Independent ones that replace a source."""


def lacks(rule: Rule, root: Path) -> list[str]:
    """What keeps a rule from being stable, a few words each; nothing of a preview rule.
    root: of the repository.
    """
    if rule.is_preview:
        return []
    found = []
    bare = sum(not one.because for one in bounds_of(rule))
    if bare:
        found.append(f"{bare} bound{'s' if bare > 1 else ''} without a reason")
    if (
        not any(_is_vendor(one.url) for one in rule.source)
        and len(rule.confirmed) < _CONFIRMATIONS
    ):
        found.append("neither a source by a vendor or framework nor two confirmations")
    if not rule.confirmed:
        found.append("no trace in `confirmed`")
    gone = [
        one
        for one in rule.confirmed
        if one.startswith("fixtures/") and not (root / one.split()[0]).exists()
    ]
    return found + [f"{one} is not there" for one in gone]


def _is_vendor(url: str) -> bool:
    address = urlsplit(url)
    host = address.hostname or ""
    if host == "github.com":
        return address.path.strip("/").partition("/")[0].lower() in _REPOSITORIES
    return host in _VENDORS or host.endswith((".nvidia.com", ".intel.com"))
