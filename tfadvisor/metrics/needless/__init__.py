"""What a compiled step computes in vain, or slower than it must, as far as its HLO and the paths of its ops tell."""

from tfadvisor.metrics.needless import branches_and_loops, derivatives, fft_lengths, one_line, pairs, random_numbers

__all__ = ["branches_and_loops", "derivatives", "fft_lengths", "one_line", "pairs", "random_numbers"]
