exec "$1" jax_loop.py "$2"
