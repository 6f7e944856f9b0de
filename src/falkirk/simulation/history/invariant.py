"""The error of a violated invariant."""


class InvariantViolatedError(Exception):
    """An invariant does not hold. `invariant` is its name, usually that of its checker."""

    def __init__(self, invariant: str, what: str) -> None:
        super().__init__(f"{invariant}: {what}")
        self.invariant = invariant
