"""The node's clock."""

import time


class Clock:
    """Milliseconds since 1970 that never go back and never leap.

    Starts at the host's time of day and follows the host's steady clock, so setting the time of day while the node runs
    changes no timeout. Both clocks run at the same rate if the host keeps its time by NTP.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        """Return the current time."""
        return (time.monotonic_ns() + self._offset_ns) // 1_000_000
