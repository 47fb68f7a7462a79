"""What mending a fault saves: the step replayed without it, and what such promises came to on measured programs."""
