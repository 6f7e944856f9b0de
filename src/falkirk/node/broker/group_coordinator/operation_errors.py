"""Errors of the group coordinator's operations that clients of some APIs get in another form.

Source: GroupCoordinatorService; of the old coordinator GroupMetadataManager.
"""

from __future__ import annotations

from typing import Final

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.node.broker.coordinator_runtime.operation_error import TOO_LARGE, operation_error
from falkirk.protocol.error_codes import ErrorCode

_NOT_READY: Final = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


def commit_error(error: ErrorCode, kind: CoordinatorKind) -> ErrorCode:
    """Return the error of OffsetCommit and TxnOffsetCommit: the old coordinator has one for too large commits."""
    if kind is CoordinatorKind.OLD and error in TOO_LARGE:
        return ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    return operation_error(error)


def fetch_error(error: ErrorCode) -> ErrorCode:
    """Return the error of OffsetFetch: clients before 3.9 look for another coordinator only after NOT_COORDINATOR."""
    mapped = operation_error(error)
    return ErrorCode.NOT_COORDINATOR if mapped is ErrorCode.COORDINATOR_NOT_AVAILABLE else mapped


def marker_error(error: ErrorCode) -> ErrorCode:
    """Return the error for a transaction coordinator, which knows no errors of group coordinators."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error in _NOT_READY else error
