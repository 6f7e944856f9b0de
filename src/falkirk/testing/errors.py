"""Errors of test clusters."""


class ClusterError(Exception):
    """A test cluster did not do what it was asked to; the message names node and state."""
