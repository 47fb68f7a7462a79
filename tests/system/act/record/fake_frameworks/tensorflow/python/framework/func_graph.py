"""Where functions are traced."""


def func_graph_from_py_func(call):
    return call
