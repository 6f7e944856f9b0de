from sys import getrefcount

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_images import acl, broker, image_of, options_at, orders, partition, random_image, topic_config, written

from falkirk.metadata.image.difference import differences
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.levels.writer import LossReport, assess, write_image, write_values, written_records
from falkirk.metadata.records.errors import UnwritableLevelError
from falkirk.metadata.records.record_key import broker_key, object_key, partition_key, topic_key
from falkirk.protocol.messages import (
    ClientQuotaRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    RegisterControllerRecord,
    TopicRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import METADATA_VERSIONS
from falkirk.versions.release import Release

# Losses of which nothing is seen in the records: other code reads them differently.
UNSEEN = {"cidr_allow_acl", "cidr_deny_acl"}


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_written_at_its_own_level_an_image_stays_as_it_is(seed, level):
    image = random_image(seed, level)
    # Where the feature is off, eligible replicas have no place.
    after, report = written(image, level, elr_enabled=True)

    assert after == image
    assert report == LossReport(inaccessible=report.inaccessible)


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33), target=st.integers(7, 33))
def test_what_differs_after_writing_is_what_was_told(seed, level, target):
    image = random_image(seed, level)
    after, report = written(image, target)

    told = {loss.key for loss in [*report.losses, *report.dropped_features]}
    seen = {difference.key for difference in differences(image, after)} - {("feature", ("metadata.version",))}
    derivable = {key for key in seen - told if is_derivable(image, after, key)}
    assert seen - derivable <= told
    assert {loss.key for loss in report.losses if loss.kind not in UNSEEN} <= seen


def is_derivable(image, after, key):
    """True if the object only lost what follows from its brokers' one log dir, or lists that were empty."""
    changed = next(difference for difference in differences(image, after) if difference.key == key)
    fields = {name for name, value in changed.before.items() if value != []}
    if key.kind == "broker":
        return not fields or (fields == {"log_dirs"} and len(image.cluster.brokers[key.identity[0]].log_dirs) == 1)
    return key.kind == "partition" and fields == {"directories"}


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33), target=st.integers(7, 33))
def test_every_record_can_be_encoded_at_its_version(seed, level, target):
    for record, version in write_image(random_image(seed, level), options_at(target), lambda _: None):
        encode_metadata_record(record, version)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32))
def test_losses_only_grow_on_the_way_down(seed):
    image = random_image(seed, 33)
    before = set()
    for level in range(33, 6, -1):
        report = assess(image, options_at(level, bootstrap_levels_bind=False))
        now = {(loss.kind, loss.key) for loss in report.losses}
        assert before <= now
        before = now


def rich():
    return image_of(
        FeatureLevelRecord("group.version", 1),
        ZkMigrationStateRecord(3),
        broker(2),
        broker(1),
        RegisterControllerRecord(9),
        orders(),
        partition(0),
        partition(1),
        topic_config("retention.ms", "1"),
        ClientQuotaRecord([EntityData("user", "u")], "producer_byte_rate", 1.0),
        ProducerIdsRecord(1, 1, 5000),
        acl("*"),
        UserScramCredentialRecord("u", 1),
        DelegationTokenRecord("User:o", "User:r", (), 1, 2, 3, "t"),
    )


def test_the_order_is_kafkas_with_metadata_version_first():
    records = list(write_image(rich(), options_at(33)))

    assert [type(record).__name__ for record, _ in records] == [
        "FeatureLevelRecord", "FeatureLevelRecord", "ZkMigrationStateRecord", "RegisterBrokerRecord",
        "RegisterBrokerRecord", "RegisterControllerRecord", "TopicRecord", "PartitionRecord", "PartitionRecord",
        "ConfigRecord", "ClientQuotaRecord", "ProducerIdsRecord", "AccessControlEntryRecord",
        "UserScramCredentialRecord", "DelegationTokenRecord",
    ]  # fmt: skip
    assert records[0].record == FeatureLevelRecord("metadata.version", 33)
    assert records[0].version == 0


def test_brokers_and_partitions_come_by_number():
    records = [record for record, _ in write_image(rich(), options_at(33))]

    assert [record.broker_id for record in records if type(record).__name__ == "RegisterBrokerRecord"] == [1, 2]
    assert [record.partition_id for record in records if type(record).__name__ == "PartitionRecord"] == [0, 1]


def test_the_same_image_is_always_written_the_same():
    one = [encode_metadata_record(*record) for record in write_image(random_image(5, 33), options_at(20), [].append)]
    two = [encode_metadata_record(*record) for record in write_image(random_image(5, 33), options_at(20), [].append)]

    assert one == two


def test_a_producer_id_block_names_no_broker():
    (record,) = [item for item, _ in write_image(rich(), options_at(33)) if type(item).__name__ == "ProducerIdsRecord"]

    assert record == ProducerIdsRecord(-1, -1, 5000)


def test_an_empty_image_is_its_metadata_version_alone():
    assert [record for record, _ in write_image(EMPTY, options_at(21))] == [FeatureLevelRecord("metadata.version", 21)]


def test_no_migration_state_is_written_where_there_was_no_migration():
    image = image_of(ZkMigrationStateRecord(0))

    assert [type(record).__name__ for record, _ in write_image(image, options_at(21))] == ["FeatureLevelRecord"]


@pytest.mark.parametrize("level", [1, 2, 3])
def test_levels_that_cannot_say_their_own_name_are_refused(level):
    with pytest.raises(UnwritableLevelError, match="no image can be written at"):
        write_image(EMPTY, options_at(level))


@pytest.mark.parametrize("at", METADATA_VERSIONS[3:], ids=str)
def test_all_other_levels_can_be_written(at):
    report = LossReport()
    records = list(write_image(rich(), options_at(at.level), report.add))

    assert records[0].record.feature_level == at.level
    assert all(version in type(record).SCHEMA.info.versions for record, version in records)


def test_the_report_sorts_what_happens_by_its_outcome():
    report = assess(rich(), options_at("3.9-IV0", release=Release.parse("3.9")))

    assert report.is_lossless
    assert [loss.key_text for loss in report.dropped_features] == ["feature group.version"]
    lossy = assess(rich(), options_at(9))
    assert [loss.kind for loss in lossy.losses] == ["controller_registration", "scram_credential", "delegation_token"]


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33), target=st.integers(7, 33), elr=st.booleans())
def test_values_and_single_records_are_those_of_the_whole_writing(seed, level, target, elr):
    image, options = random_image(seed, level), options_at(target, elr_enabled=elr)
    records = list(write_image(image, options, lambda _: None))

    assert list(write_values(image, options)) == [encode_metadata_record(*record) for record in records]
    by_key = {object_key(record.record): record for record in records}
    unknown = {broker_key(99), topic_key(b"?" * 16), partition_key(b"?" * 16, 0)}
    assert written_records(image, options, set(by_key) | unknown) == by_key


def test_a_topic_that_is_written_as_values_is_held_no_longer():
    image = image_of(*(TopicRecord(name, name.encode() * 16) for name in "abc"))
    topics = [*image.topics]
    values = write_values(image, options_at(21))
    del image

    def held() -> int:
        return sum(getrefcount(topics[index]) > 2 for index in range(len(topics)))

    counts = [held() for _ in values]
    # The last topic is held until what comes behind it; the one that is being written, too.
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1], held()) == (3, 1, 0)
