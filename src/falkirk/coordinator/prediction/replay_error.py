"""The error of a replay: where the target's coordinator would throw."""

from __future__ import annotations


class ReplayError(Exception):
    """A decoded record that cannot be applied to the current groups. Nothing was changed."""
