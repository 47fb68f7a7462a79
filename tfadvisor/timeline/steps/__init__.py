"""Where steps begin and end, and what each instant of a step is spent on."""
