"""Errors that keep a node from starting, or end it."""

from __future__ import annotations


class StartupError(Exception):
    """The node cannot start; the message is one line for the operator. Its directories are unchanged."""


class FatalError(Exception):
    """The node cannot go on; the message is one line for the operator."""


class UnfitError(FatalError):
    """The node does not support what the cluster has finalized: a leader resigns, a broker unregisters, both end."""
