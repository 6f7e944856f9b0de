"""Errors of operations whose records could not be written or committed.

Source: CoordinatorOperationExceptionHelper, GroupCoordinatorService; of the old coordinator GroupMetadataManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_FETCH_SIZE)
_NOT_READY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
_OPERATION: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    **dict.fromkeys(_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
}


def operation_error(error: ErrorCode) -> ErrorCode:
    """Return the error that most APIs respond with for an error of the log."""
    return _OPERATION.get(error, error)


def commit_error(error: ErrorCode, kind: CoordinatorKind) -> ErrorCode:
    """Return the error of OffsetCommit and TxnOffsetCommit: the old coordinator has one for too large commits."""
    if kind is CoordinatorKind.OLD and error in _TOO_LARGE:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return operation_error(error)


def fetch_error(error: ErrorCode) -> ErrorCode:
    """Return the error of OffsetFetch: clients before 3.9 look for another coordinator only after NOT_COORDINATOR."""
    mapped = operation_error(error)
    return ErrorCode.NOT_COORDINATOR if mapped is ErrorCode.COORDINATOR_NOT_AVAILABLE else mapped


def marker_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a transaction coordinator, which knows no errors of group coordinators."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error in _NOT_READY else error
