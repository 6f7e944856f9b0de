"""Reasons why the logs of a running cluster cannot be mirrored."""


class MirrorError(Exception):
    """A log of a running cluster cannot be fetched; one sentence that names the partition or the node."""
