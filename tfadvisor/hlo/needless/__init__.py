"""What a compiled program computes and then throws away, or computes in a needlessly slow way: one module a habit."""
