"""Who reads many runs at once: processes of this machine, Dask."""
