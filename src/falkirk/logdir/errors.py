"""Why an offline operation is refused, as one sentence for the operator that names the path."""


class LogDirError(Exception):
    """An operation on data directories is refused or failed; nothing was changed."""

    would_lose_data = False


class NotALogDirError(LogDirError):
    """A path that holds no Kafka log directory."""


class InterruptedChangeError(LogDirError):
    """A directory on which a change in place was begun and not finished."""


class NodeIsRunningError(LogDirError):
    """A log directory that a running node has locked."""


class DifferentClustersError(LogDirError):
    """Directories that do not belong together."""


class NoMajorityError(LogDirError):
    """The directories hold too few voters to tell what was committed."""


class DamagedLogError(LogDirError):
    """Bytes on disk that do not say what they must."""


class TargetError(LogDirError):
    """A level or release that cannot be gone to."""


class OutputError(LogDirError):
    """A place that cannot be written to."""
