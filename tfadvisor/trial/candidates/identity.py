"""What a change is, as a short number that tells nothing of the program."""

from __future__ import annotations

import hashlib
import json

from tfadvisor.trial.candidates.candidate import Candidate


def identity_of(candidate: Candidate) -> str:
    """Twelve digits; alike for alike changes."""
    said = json.dumps([sorted(candidate.texts.values()), sorted(candidate.env.items())])
    return hashlib.sha256(said.encode()).hexdigest()[:12]
