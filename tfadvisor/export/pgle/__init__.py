"""The profile that XLA's latency-hiding scheduler reads: what each instruction cost, from traces."""
