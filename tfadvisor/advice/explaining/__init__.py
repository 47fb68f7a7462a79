"""What a name means: of a rule, metric, fact, flag, class of time, verdict or word."""
