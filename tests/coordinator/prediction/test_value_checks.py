"""Values that no replay takes, whatever the state of their group."""

import pytest

from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.prediction.value_checks import check_value
from falkirk.coordinator.records.loader_rules import CoordinatorKind, loader_rules
from falkirk.coordinator.records.record_type import GroupType, Part
from falkirk.versions.release import Release

CONSUMER, SHARE, STREAMS = GroupType.CONSUMER, GroupType.SHARE, GroupType.STREAMS
KAFKA_3_7 = loader_rules(Release.parse("3.7"), CoordinatorKind.NEW)
KAFKA_4_0, KAFKA_4_3 = loader_rules(Release.parse("4.0")), loader_rules(Release.parse("4.3"))

TOPIC = {"topic_id": b"t" * 16, "topic_name": "t", "num_partitions": 1, "partitions": [0]}
ASSIGNOR = {"name": "range", "minimum_version": 0, "maximum_version": 1}


def refused(group_type, part, value, rules):
    try:
        check_value(group_type, part, value, rules)
    except ReplayError:
        return True
    return False


@pytest.mark.parametrize(
    ("group_type", "part", "value", "at_4_0", "at_4_3"),
    [
        (CONSUMER, Part.SUBSCRIPTION, {"topics": [TOPIC]}, False, False),
        (CONSUMER, Part.SUBSCRIPTION, {"topics": [{**TOPIC, "topic_id": bytes(16)}]}, True, False),
        (CONSUMER, Part.SUBSCRIPTION, {"topics": [{**TOPIC, "topic_name": ""}]}, True, False),
        (CONSUMER, Part.SUBSCRIPTION, {"topics": [{**TOPIC, "num_partitions": -1}]}, True, False),
        (CONSUMER, Part.CURRENT_ASSIGNMENT, {"partitions_pending_revocation": [TOPIC, TOPIC]}, True, False),
        (SHARE, Part.CURRENT_ASSIGNMENT, {"assigned_partitions": [TOPIC, TOPIC]}, True, True),
        (CONSUMER, Part.TARGET_MEMBER, {"topic_partitions": [TOPIC, TOPIC]}, True, True),
        (STREAMS, Part.TARGET_MEMBER, {"warmup_tasks": [{"subtopology_id": "s"}] * 2}, True, True),
        (STREAMS, Part.MEMBER, {"client_tags": [{"key": "k"}] * 2}, True, True),
        (STREAMS, Part.GROUP, {"last_assignment_configs": [{"key": "k"}] * 2}, True, True),
        (STREAMS, Part.GROUP, {"last_assignment_configs": None}, False, False),
        (STREAMS, Part.TOPOLOGY, {"epoch": 0, "subtopologies": [{"subtopology_id": "s"}] * 2}, True, True),
        (STREAMS, Part.TOPOLOGY, {"epoch": -1, "subtopologies": []}, True, True),
        (SHARE, Part.STATE_PARTITIONS, {"initialized_topics": [TOPIC, TOPIC]}, True, True),
        (CONSUMER, Part.TARGET_EPOCH, {"assignment_epoch": -2}, False, True),
        (CONSUMER, Part.TARGET_EPOCH, {"assignment_epoch": -1, "assignment_timestamp": -1}, False, True),
        (CONSUMER, Part.TARGET_EPOCH, {"assignment_epoch": -1}, False, False),
    ],
)
def test_a_value_is_refused_by_those_who_check_it(group_type, part, value, at_4_0, at_4_3):
    assert refused(group_type, part, value, KAFKA_4_0) == at_4_0
    assert refused(group_type, part, value, KAFKA_4_3) == at_4_3


@pytest.mark.parametrize(
    "wrong", [{}, {"name": ""}, {"minimum_version": -2}, {"maximum_version": -1}, {"minimum_version": 2}]
)
def test_3_7_wants_assignors_that_make_sense(wrong):
    assert refused(CONSUMER, Part.MEMBER, {"assignors": [{**ASSIGNOR, **wrong}]}, KAFKA_3_7) == bool(wrong)
