"""Why a node cannot start, or cannot go on."""

from __future__ import annotations


class StartupError(Exception):
    """The node cannot start, in one line for the operator; its directories are as they were."""


class FatalError(Exception):
    """The node cannot go on, in one line for the operator."""


class UnfitError(FatalError):
    """The node does not support what the cluster has finalized: a leader resigns, a broker unregisters, both end."""
