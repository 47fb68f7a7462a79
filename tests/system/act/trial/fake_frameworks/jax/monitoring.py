def register_event_duration_secs_listener(listener):
    pass


def unregister_event_duration_listener(listener):
    pass
