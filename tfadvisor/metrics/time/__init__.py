"""How long steps take and where their time goes."""

from tfadvisor.metrics.time import devices_in_turn, idle_between_steps, lost_time, shares, steps

__all__ = ["devices_in_turn", "idle_between_steps", "lost_time", "shares", "steps"]
