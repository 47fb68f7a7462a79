from jax._src import profiler, xla_bridge

__version__ = "0.10.2"


def live_arrays():
    return []


def effects_barrier():
    pass


def devices():
    return xla_bridge.DEVICES
