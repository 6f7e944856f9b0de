"""The error of a replay: what the target's coordinator would throw."""

from __future__ import annotations


class ReplayError(Exception):
    """A record that was read cannot be applied to the groups as they are. Whoever raises it changed nothing."""
