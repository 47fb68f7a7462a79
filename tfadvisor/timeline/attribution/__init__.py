"""Where the step goes: each instant of the counted steps given to one op, call, stage
or wait.
"""
