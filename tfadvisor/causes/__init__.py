"""What the time at each place is spent on, and how often: read from what lies
inside.
"""

from tfadvisor.causes.cause import OPS_ONE_BY_ONE, Cause, Done
from tfadvisor.causes.of_activities import causes_of
from tfadvisor.causes.program_source import ProgramSource

__all__ = ["OPS_ONE_BY_ONE", "Cause", "Done", "ProgramSource", "causes_of"]
