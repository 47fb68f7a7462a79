"""What fills the time in which no device computes, whether or not a rule knows it."""
