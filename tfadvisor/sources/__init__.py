"""Places a trace can lie beside this machine's disks: any that fsspec has a driver for. They are only read."""
