"""One question, one function. Importing the package registers every metric and fact, folder by folder."""

from tfadvisor.metrics import collectives, copies_and_memory, host, kernels, time, trace

__all__ = ["collectives", "copies_and_memory", "host", "kernels", "time", "trace"]
