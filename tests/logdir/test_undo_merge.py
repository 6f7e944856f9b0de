"""What undo brings back into metadata that has changed since, object by object."""

from dataclasses import replace

import pytest

from falkirk.logdir.undo_merge import merge_back
from falkirk.metadata.image.configs import ConfigResource
from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.records.record_key import feature_key, topic_key
from falkirk.metadata.undo.undo_bundle import Bundle, KeptTag, ObjectChange
from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData

TOPIC_ID = bytes([7]) * 16
DIRS = tuple(bytes([number]) * 16 for number in (1, 2, 3))
MIGRATING = bytes(16)


def image_of(*records):
    delta = MetadataDelta(EMPTY)
    delta.replay(FeatureLevelRecord("metadata.version", 19))
    for record in records:
        delta.replay(record)
    return delta.apply(EMPTY.provenance)


def bundle_of(*changes):
    return Bundle(
        cluster_id="c",
        level_before=33,
        level_after=19,
        release_after="3.7.2",
        features_before={},
        kraft_version_before=0,
        kraft_version_after=0,
        voters=None,
        objects=changes,
        groups={},
    )


def change(before, written, *, key="it", tags=()):
    return ObjectChange(
        kind="kind",
        key=key,
        before=None if before is None else (before, 0),
        written=None if written is None else (written, 0),
        unknown_tags=tags,
    )


def merged(now, before, written, **more):
    return merge_back(image_of(*now), bundle_of(change(before, written, **more)))


def test_the_level_is_the_old_one_again():
    result = merge_back(image_of(), bundle_of())
    assert result.image.features.metadata_version.level == 33
    assert (result.restored, result.conflicts) == (0, ())


ACL = AccessControlEntryRecord(bytes([9]) * 16, 2, "t", 3, "User:u", "10.0.0.0/8", 3, 2)
SCRAM = UserScramCredentialRecord("u", 1, b"salt", b"stored", b"server", 4096)
TOKEN = DelegationTokenRecord("User:o", "User:r", (), 1, 2, 3, "token")
CONTROLLER = RegisterControllerRecord(controller_id=4)
GROUP_CONFIG = ConfigRecord(32, "g", "consumer.session.timeout.ms", "1")
FEATURE = FeatureLevelRecord("group.version", 1)


@pytest.mark.parametrize(
    "before", [SCRAM, TOKEN, CONTROLLER, GROUP_CONFIG, FEATURE], ids=lambda record: type(record).__name__
)
def test_what_was_dropped_comes_back(before):
    result = merged([], before, None)
    assert result.image.has_same_content(merge_back(image_of(before), bundle_of()).image)
    assert (result.restored, result.conflicts) == (1, ())


@pytest.mark.parametrize(
    ("before", "newer"),
    [
        (SCRAM, UserScramCredentialRecord("u", 1, b"other", b"stored", b"server", 8192)),
        (TOKEN, DelegationTokenRecord("User:o", "User:r", (), 1, 2, 9, "token")),
        (CONTROLLER, RegisterControllerRecord(controller_id=4, incarnation_id=bytes([4]) * 16)),
        (GROUP_CONFIG, ConfigRecord(32, "g", "consumer.session.timeout.ms", "2")),
        (FeatureLevelRecord("share.version", 2), FeatureLevelRecord("share.version", 1)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_was_set_anew_stays_and_is_told(before, newer):
    result = merged([newer], before, None, key="thing")
    assert result.image.has_same_content(merge_back(image_of(newer), bundle_of()).image)
    assert result.conflicts == ("thing: set again since; the newer one stays",)
    assert result.restored == 0


def test_what_was_set_anew_to_the_same_is_no_conflict():
    result = merged([GROUP_CONFIG], GROUP_CONFIG, None)
    assert (result.restored, result.conflicts) == (0, ())


def test_a_lowered_feature_rises_again_unless_it_was_set_since():
    before, written = FeatureLevelRecord("transaction.version", 2), FeatureLevelRecord("transaction.version", 1)
    assert merged([written], before, written).image.features.finalized["transaction.version"] == 2
    result = merged([], before, written, key="feature transaction.version")
    assert "transaction.version" not in result.image.features.finalized
    assert result.conflicts == ("feature transaction.version: removed since, and not brought back",)


@pytest.mark.parametrize(
    ("before", "written"),
    [
        (ACL, ACL),
        (RegisterBrokerRecord(broker_id=1, log_dirs=DIRS), RegisterBrokerRecord(broker_id=1)),
        (PartitionRecord(0, TOPIC_ID, (1,), (1,)), PartitionRecord(0, TOPIC_ID, (1,), (1,))),
        (ConfigRecord(2, "t", "remote.storage.enable", "true"), ConfigRecord(2, "t", "remote.storage.enable", "true")),
    ],
    ids=lambda record: type(record).__name__,
)
def test_what_was_written_and_is_gone_was_removed_and_stays_so(before, written):
    result = merged([], before, written, key="thing")
    assert result.conflicts == ("thing: removed since, and not brought back",)
    assert result.image.has_same_content(merge_back(image_of(), bundle_of()).image)


def test_a_group_config_that_an_older_release_forgot_comes_back():
    result = merged([], GROUP_CONFIG, GROUP_CONFIG)
    assert result.image.configs.resources[ConfigResource(32, "g")]["consumer.session.timeout.ms"] == "1"


# --- Brokers


def test_a_broker_gets_its_directories_back_even_if_it_registered_anew():
    before = RegisterBrokerRecord(broker_id=1, broker_epoch=5, log_dirs=DIRS[:2], cordoned_log_dirs=DIRS[:1])
    newer = RegisterBrokerRecord(broker_id=1, broker_epoch=9, rack="r2")
    result = merged([newer], before, RegisterBrokerRecord(broker_id=1, broker_epoch=5))
    broker = result.image.cluster.brokers[1]
    assert (broker.broker_epoch, broker.rack) == (9, "r2")
    assert (broker.log_dirs, broker.cordoned_log_dirs) == (DIRS[:2], DIRS[:1])
    assert result.conflicts == ()


def test_directories_that_a_broker_told_since_are_the_newer_ones():
    before = RegisterBrokerRecord(broker_id=1, log_dirs=DIRS[:2], cordoned_log_dirs=DIRS[:1])
    newer = RegisterBrokerRecord(broker_id=1, log_dirs=DIRS[2:], cordoned_log_dirs=())
    broker = merged([newer], before, RegisterBrokerRecord(broker_id=1)).image.cluster.brokers[1]
    assert (broker.log_dirs, broker.cordoned_log_dirs) == (DIRS[2:], ())


# --- Partitions

BEFORE = PartitionRecord(
    partition_id=0,
    topic_id=TOPIC_ID,
    replicas=(1, 2),
    isr=(),
    leader=-1,
    leader_epoch=3,
    partition_epoch=4,
    directories=DIRS[:2],
    eligible_leader_replicas=(2,),
)
WRITTEN = PartitionRecord(
    partition_id=0, topic_id=TOPIC_ID, replicas=(1, 2), isr=(2,), leader=-1, leader_epoch=3, partition_epoch=4
)


def partition_now(*, before=BEFORE, written=WRITTEN, **changes):
    fields = {name: getattr(written, name) for name in written.__struct_fields__}
    now = PartitionRecord(**fields | changes)
    result = merged([TopicRecord("t", TOPIC_ID), now], before, written, key="topic t partition 0")
    return result.image.topics.topic("t").partition(0), list(result.conflicts)


def test_a_partition_that_nobody_led_since_is_what_it_was():
    found, conflicts = partition_now()
    assert (found.isr, found.eligible_leader_replicas, found.directories) == ((), (2,), DIRS[:2])
    assert conflicts == []


def test_a_partition_that_had_a_leader_since_keeps_it_and_gets_its_directories():
    found, conflicts = partition_now(isr=(1, 2), leader=2, leader_epoch=5)
    assert (found.isr, found.leader, found.leader_epoch) == ((1, 2), 2, 5)
    assert found.eligible_leader_replicas == ()
    assert found.directories == DIRS[:2]
    assert conflicts == ["topic t partition 0: it had leaders since; its eligible leader replicas of then are void"]


def test_directories_that_were_told_since_win_over_the_old_ones_one_by_one():
    found, conflicts = partition_now(directories=(DIRS[2], MIGRATING))
    assert found.directories == (DIRS[2], DIRS[1])
    assert conflicts == []


@pytest.mark.parametrize(("level_after", "known"), [(15, (DIRS[0], MIGRATING)), (19, (MIGRATING, MIGRATING))])
def test_replicas_lie_in_a_brokers_only_directory_where_the_lower_level_could_not_say_so(level_after, known):
    brokers = [
        RegisterBrokerRecord(broker_id=1, log_dirs=DIRS[:1]),
        RegisterBrokerRecord(broker_id=2, log_dirs=DIRS[:2]),
    ]
    now = image_of(*brokers, TopicRecord("t", TOPIC_ID), WRITTEN)

    result = merge_back(now, replace(bundle_of(), level_after=level_after))

    partition = result.image.topics.topic("t").partition(0)
    assert partition.directories == known
    assert (partition.isr, partition.partition_epoch) == (WRITTEN.isr, WRITTEN.partition_epoch)
    assert result.conflicts == ()


def test_replicas_that_moved_since_lie_where_the_brokers_say():
    plain = PartitionRecord(**{name: getattr(BEFORE, name) for name in BEFORE.__struct_fields__})
    plain.eligible_leader_replicas = None
    found, conflicts = partition_now(before=plain, replicas=(2, 3), isr=(2, 3))
    assert (found.replicas, found.directories) == ((2, 3), (MIGRATING, MIGRATING))
    assert conflicts == ["topic t partition 0: its replicas moved since; the brokers report their directories"]


# --- Unknown tagged fields

QUOTA = ClientQuotaRecord([EntityData("user", "u")], "request_percentage", 5.0)


@pytest.mark.parametrize(
    ("written", "newer"),
    [
        (TopicRecord("t", TOPIC_ID), None),
        (PartitionRecord(0, TOPIC_ID, (1,), (1,)), PartitionRecord(0, TOPIC_ID, (1,), (), leader_epoch=9)),
        (RegisterBrokerRecord(broker_id=1), RegisterBrokerRecord(broker_id=1, broker_epoch=9)),
        (CONTROLLER, RegisterControllerRecord(controller_id=4, zk_migration_ready=True)),
        (ConfigRecord(4, "1", "a", "b"), ConfigRecord(4, "1", "a", "c")),
        (QUOTA, ClientQuotaRecord([EntityData("user", "u")], "request_percentage", 6.0)),
        (ProducerIdsRecord(-1, -1, 1000), ProducerIdsRecord(-1, -1, 2000)),
        (ACL, None),
        (SCRAM, UserScramCredentialRecord("u", 1, b"other", b"stored", b"server", 4096)),
        (TOKEN, DelegationTokenRecord("User:o", "User:r", (), 1, 2, 9, "token")),
        (FEATURE, FeatureLevelRecord("group.version", 2)),
    ],
    ids=lambda record: type(record).__name__,
)
def test_unknown_tags_come_back_with_any_record_that_is_as_it_was_written(written, newer):
    topic = [TopicRecord("t", TOPIC_ID)] if isinstance(written, PartitionRecord) else []
    tag = KeptTag(type(written).__name__, "", 77, b"later")
    as_written = merged([*topic, written], None, written, tags=(tag,))
    assert list(as_written.unknown_tags.values()) == [(tag,)]
    assert (as_written.restored, as_written.conflicts) == (1, ())
    changed = merged([*topic, *([newer] if newer else [])], None, written, key="thing", tags=(tag,))
    assert changed.unknown_tags == {}
    assert changed.conflicts == ("thing: changed since; its unknown tagged fields do not come back",)


def test_a_tag_of_a_change_is_not_put_into_another_kind_of_record():
    tags = (KeptTag("PartitionChangeRecord", "", 9, b"x"), KeptTag("PartitionRecord", "", 9, b"y"))
    now = PartitionRecord(0, TOPIC_ID, (1,), (1,))
    result = merged([TopicRecord("t", TOPIC_ID), now], None, now, key="topic t partition 0", tags=tags)
    assert [tags[1:]] == list(result.unknown_tags.values())
    assert list(result.conflicts) == [
        "topic t partition 0: tag 9 of PartitionChangeRecord stays in the bundle, there is no such record any more"
    ]


def test_a_topic_made_anew_under_the_name_is_another_one():
    tag = KeptTag("TopicRecord", "", 9, b"x")
    result = merged([TopicRecord("t", bytes([8]) * 16)], None, TopicRecord("t", TOPIC_ID), tags=(tag,))
    assert topic_key(TOPIC_ID) not in result.unknown_tags
    assert len(result.conflicts) == 1


def test_what_is_not_in_the_bundle_stays_as_it_is_now():
    result = merged([TopicRecord("new", TOPIC_ID), QUOTA], FEATURE, None)
    assert result.image.topics.topic("new") is not None
    assert result.image.counts()["client_quotas"] == 1
    assert feature_key("group.version").identity[0] in result.image.features.finalized
