from invented import work

from jax._src import profiler, xla_bridge

__version__ = "0.10.2"


def live_arrays():
    return []


def effects_barrier():
    pass


def devices():
    return xla_bridge.DEVICES


class ArrayImpl:
    """An array whose value takes so many milliseconds to read."""

    def __init__(self, milliseconds, rows=()):
        self.milliseconds, self.rows = milliseconds, list(rows)
        self.shape, self.dtype = (len(self.rows),), "float32"

    def __array__(self):
        raise TypeError("only float() reads it")

    def __getitem__(self, part):
        return ArrayImpl(self.milliseconds, self.rows[part])

    def __eq__(self, other):
        return ArrayImpl(self.milliseconds)

    __hash__ = None
    size = 1

    def item(self):
        return float(self) > 1

    __bool__ = item

    def __float__(self):
        work(self.milliseconds)
        return 0.5


def jit(function):
    """Takes 2 ms for any function."""

    def compiled(state, batch):
        work(2)
        return state + 1

    return compiled
