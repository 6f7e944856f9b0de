from copy import deepcopy

import pytest
from kafka_answers import differences
from kafka_ledger import UnexplainedLossError, expected_answers, expected_image, image_lines

GROUP = {
    "type": "Consumer",
    "protocol_type": "consumer",
    "simple": False,
    "state": "Stable",
    "assignor": "uniform",
    "group_epoch": 3,
    "members": [{"id": "a"}],
    "committed": {"orders-0": {"offset": 5}},
}
BEFORE = {
    "features": {"metadata.version": 30, "group.version": 1},
    "configs": {"topic:orders": {"retention.ms": "1"}, "group:readers": {"consumer.heartbeat.interval.ms": "400"}},
    "groups": {"coordinators": {"0": "loaded"}, "groups": {"readers": GROUP}},
    "messages": {"orders-0": {"count": 7}},
    "unsupported": {},
}
LEDGER = {
    "to": {"level": 21, "name": "3.9-IV0", "release": "3.9.1"},
    "losses": [],
    "inaccessible": [
        {
            "kind": "group_config",
            "key_fields": {"resource_type": 32, "resource": "readers", "config": "consumer.heartbeat.interval.ms"},
        }
    ],
    "features": {"after": {"metadata.version": 21}},
    "groups": [{"group": "readers", "lost": {"group": 1, "members": 1}}],
}


def test_answers_change_by_what_the_ledger_names_and_nothing_else():
    expected = expected_answers(BEFORE, LEDGER)
    assert {change.path[0] for change in differences(BEFORE, expected)} == {
        "configs",
        "features",
        "groups",
        "unsupported",
    }
    assert expected["configs"] == {"topic:orders": {"retention.ms": "1"}}
    assert expected["features"] == {"metadata.version": 21}
    assert expected["groups"]["groups"]["readers"] == {
        "type": "Classic",
        "protocol_type": "",
        "simple": True,
        "state": "Empty",
        "assignor": "",
        "members": [],
        "committed": {"orders-0": {"offset": 5}},
    }


def test_a_group_without_offsets_is_gone_with_its_type():
    before = deepcopy(BEFORE)
    before["groups"]["groups"]["readers"]["committed"] = {}
    assert expected_answers(before, LEDGER)["groups"]["groups"] == {}


@pytest.mark.parametrize(
    "changed",
    [
        {"losses": [{"kind": "scram_credential"}]},
        {"inaccessible": [{"kind": "remote_storage_topic"}]},
        {"groups": []},
        {"groups": [{"group": "readers", "lost": {"group": 1, "committed_offsets": 1}}]},
    ],
    ids=["unknown loss", "unknown inaccessible", "group not told of", "offsets lost"],
)
def test_a_ledger_of_which_it_is_not_known_how_it_shows_is_refused(changed):
    with pytest.raises(UnexplainedLossError):
        expected_answers(BEFORE, LEDGER | changed)


def test_an_image_changes_by_what_the_ledger_names():
    partition = {"topicId": "t", "partitionId": 0, "isr": [], "leader": -1}
    lines = [
        {"control": "SnapshotHeaderRecord", "data": {"version": 0, "lastContainedLogTimestamp": 5}},
        {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": "group.version", "featureLevel": 1}},
        {"type": "PARTITION_RECORD", "version": 1, "data": partition},
        {"type": "PARTITION_RECORD", "version": 1, "data": partition | {"partitionId": 1}},
        {"loss": "the cordoned log directories of one or more brokers"},
    ]
    loss = {
        "kind": "elr_to_isr",
        "key_fields": {"topic_id": "t", "partition": 0},
        "after": {"isr": [2], "leader": -1, "leader_recovery_state": 0},
    }
    assert expected_image(lines, LEDGER | {"losses": [loss]}) == image_lines(
        [
            {"control": "SnapshotHeaderRecord", "data": {"version": 0, "lastContainedLogTimestamp": 9}},
            {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": "metadata.version", "featureLevel": 21}},
            {"type": "PARTITION_RECORD", "version": 1, "data": partition | {"isr": [2]}},
            {"type": "PARTITION_RECORD", "version": 1, "data": partition | {"partitionId": 1}},
            {"type": "ZK_MIGRATION_STATE_RECORD", "version": 0, "data": {"zkMigrationState": 0}},
        ]
    )
