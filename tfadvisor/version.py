"""The version, as a constant: asking the installed metadata costs 12 ms at
every start.
"""

VERSION = "0.1.0"
