def func_graph_from_py_func():
    pass
