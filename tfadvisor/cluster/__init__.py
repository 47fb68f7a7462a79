"""Where work is done that is the same for many files: processes of this machine, or a Dask cluster. It knows no trace."""
