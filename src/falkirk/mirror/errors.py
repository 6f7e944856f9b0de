"""Reasons why the logs of a running cluster cannot be mirrored."""


class MirrorError(Exception):
    """A log of a running cluster cannot be fetched; one sentence that names the partition or the node."""


class DivergedLogError(MirrorError):
    """The leader's log is not the one that was fetched from: it ends or differs below what was committed."""
