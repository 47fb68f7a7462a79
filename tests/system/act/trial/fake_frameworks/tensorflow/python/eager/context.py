class Context:
    _initialized = True

    def num_gpus(self):
        return 0


_context = Context()


def async_wait():
    pass
