"""The exit status of commands. It is a contract: scripts decide by it."""

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit status of every command, and two more of `simulate`."""

    DONE = 0
    # Refused or failed; for `logdir plan`: blocked.
    FAILED = 1
    # The command line itself is wrong.
    WRONG_USAGE = 2
    # Refused because data would be lost, without --unsafe.
    DATA_WOULD_BE_LOST = 3
    # `simulate`: nothing is wrong, but long after the last fault nothing moves.
    LOST_PROGRESS = 4
    # `simulate`: a program raised what it should not.
    CRASHED = 5
