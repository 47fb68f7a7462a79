LISTENERS = []


def register_event_duration_secs_listener(listener):
    LISTENERS.append(listener)


def unregister_event_duration_listener(listener):
    LISTENERS.remove(listener)


def compiles():
    """As if a program had been compiled just now."""
    for listener in LISTENERS:
        listener("/jax/core/compile/backend_compile_duration", 0.1)
