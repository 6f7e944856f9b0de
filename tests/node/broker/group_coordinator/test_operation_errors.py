import pytest

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.broker.group_coordinator.operation_errors import commit_error, fetch_error, marker_error
from falkirk.protocol.error_codes import ErrorCode

NEW, OLD = CoordinatorKind.NEW, CoordinatorKind.OLD


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("NOT_ENOUGH_REPLICAS", "COORDINATOR_NOT_AVAILABLE"),
        ("REQUEST_TIMED_OUT", "COORDINATOR_NOT_AVAILABLE"),
        ("UNKNOWN_TOPIC_OR_PARTITION", "COORDINATOR_NOT_AVAILABLE"),
        ("NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"),
        ("KAFKA_STORAGE_ERROR", "NOT_COORDINATOR"),
        ("MESSAGE_TOO_LARGE", "UNKNOWN_SERVER_ERROR"),
        ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"),
        ("INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"),
    ],
)
def test_clients_are_told_of_coordinators_where_the_log_has_failed(error, told):
    assert operation_error(ErrorCode[error]) is commit_error(ErrorCode[error], NEW) is ErrorCode[told]


def test_only_the_old_coordinator_says_that_a_commit_is_too_large():
    assert commit_error(ErrorCode.RECORD_LIST_TOO_LARGE, OLD) is ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert commit_error(ErrorCode.REQUEST_TIMED_OUT, OLD) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_who_fetches_offsets_is_sent_to_look_for_the_coordinator():
    assert fetch_error(ErrorCode.NOT_ENOUGH_REPLICAS) is ErrorCode.NOT_COORDINATOR
    assert fetch_error(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_transaction_coordinators_hear_of_leaders_only():
    assert marker_error(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert marker_error(ErrorCode.INVALID_PRODUCER_EPOCH) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert marker_error(ErrorCode.NONE) is ErrorCode.NONE
