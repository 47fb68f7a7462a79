"""The devices that have been asked for."""

_backends = {}
