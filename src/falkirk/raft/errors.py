"""What the log's leader cannot do."""

from falkirk.protocol.error_codes import ErrorCode


class RaftError(Exception):
    """Base of everything that raft raises on purpose."""

    error_code = ErrorCode.UNKNOWN_SERVER_ERROR


class NotLeaderError(RaftError):
    """The replica does not lead (any more): nothing was appended."""

    error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER


class BatchTooLargeError(RaftError):
    """The records do not fit one batch (8 MiB): nothing was appended."""

    error_code = ErrorCode.RECORD_LIST_TOO_LARGE
