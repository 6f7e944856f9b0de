"""Errors of offline operations; the text is one sentence for the operator that names the path."""


class LogDirError(Exception):
    """An operation on data directories was refused or failed; nothing was changed."""

    would_lose_data = False


class NotALogDirError(LogDirError):
    """A path that holds no Kafka log directory."""


class LinkedOutsideError(LogDirError):
    """A log directory with a symbolic link to something outside of it."""


class InterruptedChangeError(LogDirError):
    """A directory with an unfinished change in place."""


class NodeIsRunningError(LogDirError):
    """A log directory that a running node has locked."""


class DifferentClustersError(LogDirError):
    """Directories that do not belong to one cluster."""


class NoMajorityError(LogDirError):
    """Too few voters are here to know what was committed."""


class LiveDirectoryError(LogDirError):
    """A directory that was fetched from a running cluster, and is no node's."""


class DamagedLogError(LogDirError):
    """A metadata log with a gap, or with bytes that are malformed."""


class TargetError(LogDirError):
    """A level or release that is no possible target."""


class OutputError(LogDirError):
    """A place where the result cannot be written."""
