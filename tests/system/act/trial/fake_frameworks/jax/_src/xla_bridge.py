class Device:
    device_kind = "fake"


DEVICES = [Device()]
_backends = {"fake": DEVICES}
