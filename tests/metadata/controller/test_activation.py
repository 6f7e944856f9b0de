"""What a controller appends before it serves: as Kafka's releases do."""

import pytest
from controllers import CLUSTER_ID, CONTROLLER_ID, controller_of, make_image, run

from falkirk.metadata.controller.activation import (
    ActivationError,
    activation_results,
    is_log_empty,
    level_warning,
)
from falkirk.metadata.controller.state.settings import ControllerSettings
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.versions.release import Release

BEGIN = BeginTransactionRecord("Bootstrap records")
END = EndTransactionRecord()
ABORT = AbortTransactionRecord("Controller failover")
CREDENTIAL = UserScramCredentialRecord("alice", 1, b"s", b"k", b"k", 4096)


def level(name, number=None):
    if number is None:
        return FeatureLevelRecord("metadata.version", MetadataVersion.parse(name).level)
    return FeatureLevelRecord(name, number)


def activate(release, image, *bootstrap, open_transaction_offset=None, **settings):
    """Return the activated controller and what it appended."""
    controller = controller_of(image, release=release, **settings)
    results = activation_results(
        controller.state,
        controller.settings,
        [VersionedRecord(record, 0) for record in bootstrap],
        open_transaction_offset=open_transaction_offset,
    )
    for result in results:
        if open_transaction_offset is None:
            run(controller, result)
        else:
            end_offset = controller.state.next_offset + len(result.records)
            controller.replay(result.records, end_offset=end_offset, now_ms=0)
    return controller, [record for result in results for record, _ in result.records], results


@pytest.mark.parametrize(
    ("release", "at", "expected"),
    [
        # Before 3.6-IV1 there are no transactions, before 3.4-IV0 no migration is recorded.
        ("3.7", "3.3-IV0", [level("3.3-IV0"), CREDENTIAL]),
        ("3.7", "3.5-IV2", [level("3.5-IV2"), CREDENTIAL, ZkMigrationStateRecord(0)]),
        ("3.9", "3.9-IV0", [BEGIN, level("3.9-IV0"), CREDENTIAL, ZkMigrationStateRecord(0), END]),
        # Releases without ZooKeeper say nothing of it.
        ("4.0", "3.5-IV2", [level("3.5-IV2"), CREDENTIAL]),
        ("4.0", "3.9-IV0", [BEGIN, level("3.9-IV0"), CREDENTIAL, END]),
    ],
)
def test_an_empty_log_gets_the_bootstrap_records(release, at, expected):
    controller, records, results = activate(release, EMPTY, level(at), CREDENTIAL)
    assert records == expected
    assert [result.is_atomic for result in results] == [BEGIN not in expected]
    assert controller.state.metadata_version == MetadataVersion.parse(at)
    assert len(controller.state.image.scram.credentials) == 1


def test_a_cluster_with_elr_starts_with_its_own_min_insync_replicas():
    bootstrap = level("4.4-IV2"), level("eligible.leader.replicas.version", 1)
    _, records, _ = activate("4.4", EMPTY, *bootstrap, static_configs={"min.insync.replicas": "2"})
    assert records == [BEGIN, *bootstrap, ConfigRecord(4, "", "min.insync.replicas", "2"), END]
    _, records, _ = activate("4.4", EMPTY, *bootstrap)
    assert ConfigRecord(4, "", "min.insync.replicas", "1") in records


def test_a_bootstrap_that_was_left_half_written_is_aborted_and_done_anew():
    # What an open transaction holds is not in the image, so the log still says nothing.
    image = MetadataDelta(EMPTY).apply(Provenance(3, 1, 0))
    controller, records, _ = activate("4.4", image, level("4.4-IV2"), open_transaction_offset=1)
    assert records == [ABORT, BEGIN, level("4.4-IV2"), END]
    assert controller.state.next_offset == 7
    with pytest.raises(ActivationError, match=r"offset 1 is open.*3\.3-IV3 knows no transactions"):
        activate("4.4", image, level("3.3-IV3"), open_transaction_offset=1)


def test_a_log_that_says_something_gets_nothing():
    image = make_image(release="4.4", records=[TopicRecord("foo", b"f" * 16)])
    assert activate("4.4", image, level("4.4-IV2"))[1:] == ([], [])


def test_a_transaction_that_an_earlier_leader_left_open_is_aborted():
    image = make_image(release="4.4", metadata_version="4.0-IV3")
    assert activate("4.4", image, open_transaction_offset=5)[1] == [ABORT]
    old = make_image(release="3.9", metadata_version="3.6-IV0")
    with pytest.raises(ActivationError, match=r"3\.6-IV0 knows no transactions"):
        activate("3.9", old, open_transaction_offset=5)


def preview_image():
    """Return the image of a log of a preview release: it has records, but no metadata.version."""
    delta = MetadataDelta(EMPTY)
    delta.replay(TopicRecord("foo", b"f" * 16))
    return delta.apply(Provenance(2, 1, 0))


def test_a_log_without_a_metadata_version_counts_as_one_of_a_preview_release():
    controller, records, _ = activate("3.9", preview_image(), level("3.9-IV0"))
    assert records == []
    assert controller.state.metadata_version == MetadataVersion.parse("3.0-IV1")
    assert "3.0-IV1" in level_warning(controller.state)
    with pytest.raises(ActivationError, match=r"is at metadata.version 3.0-IV1, and release 4.0.0 needs 3.3-IV3"):
        activate("4.0", preview_image(), level("4.0-IV3"))


def test_nothing_is_to_be_said_of_logs_that_are_empty_or_have_a_level():
    assert level_warning(controller_of(EMPTY).state) is None
    assert is_log_empty(controller_of(EMPTY).state)
    with_level = controller_of(make_image())
    assert level_warning(with_level.state) is None
    assert not is_log_empty(with_level.state)


@pytest.mark.parametrize(
    ("release", "state", "expected"), [("3.9", 1, [3]), ("3.9", 2, []), ("3.9", 3, []), ("4.4", 1, [])]
)
def test_a_migration_from_zookeeper_that_was_running_is_ended(release, state, expected):
    image = make_image(release=release, metadata_version="3.9-IV0", records=[ZkMigrationStateRecord(state)])
    assert [record.zk_migration_state for record in activate(release, image)[1]] == expected


def test_formatting_must_have_said_a_metadata_version():
    settings = ControllerSettings(node_id=CONTROLLER_ID, cluster_id=CLUSTER_ID, release=Release.parse("4.4"))
    with pytest.raises(AssertionError):
        activation_results(controller_of(EMPTY).state, settings, [], open_transaction_offset=None)
