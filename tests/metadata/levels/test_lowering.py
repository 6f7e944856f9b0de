"""What an image becomes at a lower level, with the writer and the reader as judges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import directories
from metadata_images import (
    D1,
    D2,
    TOPIC_ID,
    acl,
    broker,
    image_of,
    orders,
    partition,
    random_image,
    topic_config,
    written,
)

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.metadata.levels.lowering import lower, replay
from falkirk.metadata.records.errors import InconsistentRecordError, UnwritableLevelError
from falkirk.protocol.messages import FeatureLevelRecord, RegisterControllerRecord
from falkirk.versions.metadata_version import MetadataVersion

BEHIND = Provenance(1000, 7, 99)


def lowered(image, level):
    return lower(image, MetadataVersion.of_level(level), BEHIND)


def as_read_back(image, level):
    """Write the image at the level, and read what was written."""
    return written(image, level, bootstrap_levels_bind=False, bumps_partition_epochs=True)


def contents(delta):
    """Return what a delta holds, by area; the image that it is about does not count."""
    skipped = {"image", "base", "before", "_created_ids", "_after"}

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        names = getattr(value, "__slots__", None) or getattr(value, "__dict__", None)
        if not type(value).__name__.endswith("Delta") or names is None:
            return value
        return {name: plain(getattr(value, name)) for name in names if name not in skipped}

    return plain(delta)


@pytest.mark.slow
@given(seed=st.integers(0, 2**32), levels=st.lists(st.integers(4, 33), min_size=2, max_size=2, unique=True).map(sorted))
def test_lowering_gives_what_reading_the_written_image_back_would(seed, levels):
    target, level = levels
    image = random_image(seed, level, batches=30)
    expected, report = as_read_back(image, target)
    lowering = lowered(image, target)

    assert lowering.image.provenance == BEHIND
    assert lowering.image.has_same_content(expected)
    assert [loss.reported() for loss in lowering.report.losses] == [loss.reported() for loss in report.losses]
    assert contents(lowering.delta) == contents(MetadataDelta.between(image, expected))


def moved(image, level):
    """Return the image at a level, above its own or below."""
    if level < image.features.metadata_version.level:
        return lowered(image, level).image
    delta = MetadataDelta(image)
    delta.replay(FeatureLevelRecord("metadata.version", level))
    return delta.apply(image.provenance)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cluster-3.7.2", "cluster-4.0.0", "cluster-4.4.0", "elr-4.3.1"])
def test_real_images_are_lowered_between_any_two_levels_as_the_writer_would(name):
    node = directories(f"{name}.tar.gz")
    directory = next(iter(node.values()))
    newest = directory.snapshot(max(directory.snapshots))
    for level in range(16, 34):
        image = moved(newest, level)
        for target in range(15, level):
            expected, report = as_read_back(image, target)
            lowering = lowered(image, target)
            assert lowering.image.has_same_content(expected)
            assert [loss.key for loss in lowering.report.losses] == [loss.key for loss in report.losses]
            assert contents(lowering.delta) == contents(MetadataDelta.between(image, expected))


def test_without_loss_nothing_but_the_level_is_another_object():
    records = [broker(1, log_dirs=(D1,)), orders(), partition(directories=(D1,)), topic_config("a", "b"), acl("h")]
    image = image_of(*records, FeatureLevelRecord("group.version", 1))
    lowering = lowered(image, 30)

    assert lowering.report.is_lossless
    for area in ("cluster", "topics", "configs", "client_quotas", "producer_ids", "acls", "scram", "delegation_tokens"):
        assert getattr(lowering.image, area) is getattr(image, area)
        assert getattr(lowering.delta, area) is None
    assert lowering.image.features.finalized is image.features.finalized
    assert lowering.image.features.metadata_version == MetadataVersion.parse("4.3-IV0")


def test_partitions_that_lose_nothing_are_the_same_objects():
    image = image_of(orders(), *(partition(number) for number in range(40)), partition(40, last_known_elr=(1,)))
    before, after = image.topics.topic("orders"), lowered(image, 21).image.topics.topic("orders")

    assert all(old is new for old, new in zip(before.partitions[:40], after.partitions[:40], strict=True))
    assert before.chunks[0] is after.chunks[0]
    assert after.partition(40).last_known_elr == ()


def test_live_replicas_notice_what_becomes_of_their_eligible_leader_replicas():
    elr = FeatureLevelRecord("eligible.leader.replicas.version", 1)
    stopped = partition(replicas=(1, 2), isr=(), leader=-1, eligible_leader_replicas=(2,))
    lowering = lowered(image_of(elr, orders(), stopped, partition(1)), 22)

    found = lowering.image.topics.partition("orders", 0)
    assert (found.isr, found.leader, found.leader_epoch, found.partition_epoch) == ((2,), -1, 5, 10)
    assert lowering.image.topics.partition("orders", 1).partition_epoch == 9
    assert [*lowering.delta.topics.changed[TOPIC_ID].partitions] == [0]
    assert [loss.kind for loss in lowering.report.losses] == ["elr_to_isr"]
    assert dict(lowering.image.features.finalized) == {}


def test_features_that_depend_on_no_level_are_for_others_to_lower():
    names = {"group.version": 1, "share.version": 1, "streams.version": 1, "transaction.version": 2}
    image = image_of(*(FeatureLevelRecord(name, level) for name, level in names.items()))

    assert dict(lowered(image, 15).image.features.finalized) == names


def test_directories_that_can_be_guessed_go_without_loss_and_without_an_epoch():
    image = image_of(broker(1, log_dirs=(D1,), cordoned_log_dirs=()), orders(), partition(directories=(D1,)))
    lowering = lowered(image, 16)

    assert lowering.report.is_lossless
    assert lowering.image.topics.partition("orders", 0).directories == (bytes(16),)
    assert lowering.image.topics.partition("orders", 0).partition_epoch == 9
    assert (lowering.image.cluster.brokers[1].log_dirs, lowering.image.cluster.brokers[1].cordoned_log_dirs) == (
        (),
        None,
    )


def test_brokers_forget_what_the_level_has_no_place_for_and_controllers_stay_from_3_7_on():
    image = image_of(broker(1, log_dirs=(D1, D2), cordoned_log_dirs=(D2,)), RegisterControllerRecord(3000))
    lowering = lowered(image, 15)

    assert lowering.image.cluster.brokers[1].log_dirs == ()
    assert lowering.image.cluster.controllers is image.cluster.controllers
    assert [loss.kind for loss in lowering.report.losses] == ["broker_log_dirs", "cordoned_log_dirs"]


def test_unknown_tagged_fields_are_told_and_gone():
    tagged = partition(1)
    tagged.unknown_tagged_fields = ((77, b"x"),)
    image = image_of(orders(), partition(0, last_known_elr=(1,)), tagged)
    lowering = lowered(image, 21)

    assert [loss.kind for loss in lowering.report.losses] == ["eligible_leader_replicas", "unknown_tagged_field"]
    assert not lowering.image.unknown_tags.tags
    assert contents(lowering.delta) == contents(MetadataDelta.between(image, lowering.image))


def test_below_3_3_nothing_is_lowered():
    with pytest.raises(UnwritableLevelError, match=r"no image can be written at 3\.2-IV0, only from 3\.3-IV0 on"):
        lowered(image_of(), 3)


def test_a_record_that_raises_the_level_or_names_another_feature_lowers_nothing():
    image = image_of(orders(), partition(last_known_elr=(1,)), level=30)
    for record in (
        FeatureLevelRecord("metadata.version", 33),
        FeatureLevelRecord("metadata.version", 30),
        FeatureLevelRecord("group.version", 0),
        topic_config("a", "b"),
    ):
        delta = MetadataDelta(image)
        assert replay(delta, record) is None
        assert delta.topics is None


def test_the_first_level_of_a_log_lowers_nothing():
    delta = MetadataDelta(image_of(orders(), partition(last_known_elr=(1,)), level=None))

    assert replay(delta, FeatureLevelRecord("metadata.version", 15)) is None
    assert delta.topics is None


def test_a_level_that_nobody_knows_is_refused_as_ever():
    with pytest.raises(InconsistentRecordError, match=r"unknown metadata\.version level 99"):
        replay(MetadataDelta(image_of()), FeatureLevelRecord("metadata.version", 99))


def test_a_record_lowers_what_the_records_before_it_made():
    image = image_of(orders(), partition(0))
    delta = MetadataDelta(image)
    replay(delta, partition(1, last_known_elr=(1,)))
    report = replay(delta, FeatureLevelRecord("metadata.version", 21))
    replay(delta, topic_config("a", "b"))
    after = delta.apply(BEHIND)

    assert [loss.key_text for loss in report.losses] == ["topic orders partition 1"]
    assert after.topics.partition("orders", 1).partition_epoch == 10
    assert after.topics.partition("orders", 1).last_known_elr == ()
    assert after.configs.entry_count == 1
