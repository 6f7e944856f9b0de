from hypothesis import given
from hypothesis import strategies as st
from metadata_images import TOPIC_ID, image_of, orders, partition, random_image, topic_config
from msgspec.structs import replace

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.unknown_tags import UnknownTag
from falkirk.metadata.levels.elr_conversion import without_elr
from falkirk.metadata.levels.feature_scrubbing import scrub_eligible_leader_replicas
from falkirk.metadata.levels.lowering import lower
from falkirk.metadata.records.record_key import partition_key
from falkirk.protocol.messages import ClearElrRecord, ConfigRecord, FeatureLevelRecord, PartitionChangeRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion

ELR = "eligible.leader.replicas.version"
ELR_ON = FeatureLevelRecord(ELR, 1)


def stopped(number=0, **fields):
    return partition(number, replicas=(1, 2, 3), isr=(), leader=-1, **fields)


def scrubbed(image):
    """Replay the records through their bytes, and the level that they go before."""
    delta = MetadataDelta(image)
    for record, version in scrub_eligible_leader_replicas(image).records:
        delta.replay(decode_metadata_record(encode_metadata_record(record, version))[0])
    delta.replay(FeatureLevelRecord(ELR, 0))
    return delta.apply(image.provenance)


@given(seed=st.integers(0, 2**32), level=st.integers(23, 33))
def test_each_partition_becomes_what_the_writer_would_make_of_it(seed, level):
    image = random_image(seed, level)
    after = scrubbed(image)

    for topic in image.topics:
        found = dict(after.topics.by_name[topic.name].items())
        for number, before in topic.items():
            expected = without_elr(before, bumps_epoch=True)
            # To take a leader away that is not in sync, which no controller leaves there, takes a leader epoch.
            bump = before.leader != expected.leader
            assert found[number] == replace(expected, leader_epoch=expected.leader_epoch + bump)


@given(seed=st.integers(0, 2**32))
def test_then_lowering_finds_nothing_left_to_convert(seed):
    image = scrubbed(random_image(seed, 33))
    lowering = lower(image, MetadataVersion.parse("3.9-IV0"), image.provenance)

    assert lowering.delta.topics is None


def test_partitions_without_in_sync_replicas_are_changed_one_by_one_and_all_others_by_one_record():
    image = image_of(
        ELR_ON,
        orders(),
        stopped(0, eligible_leader_replicas=(2, 3), last_known_elr=(1,)),
        stopped(1, last_known_elr=(3,)),
        partition(2, replicas=(1, 2), eligible_leader_replicas=(2,)),
        partition(3, replicas=(1, 2), last_known_elr=(2,)),
        partition(4),
    )
    scrubbing = scrub_eligible_leader_replicas(image)

    assert scrubbing.records == (
        (PartitionChangeRecord(0, TOPIC_ID, isr=(2, 3), eligible_leader_replicas=(), last_known_elr=()), 2),
        (PartitionChangeRecord(1, TOPIC_ID, isr=(3,), leader_recovery_state=1, last_known_elr=()), 2),
        (ClearElrRecord(""), 0),
    )
    assert [(loss.kind, loss.key) for loss in scrubbing.report.losses] == [
        ("elr_to_isr", partition_key(TOPIC_ID, 0)),
        ("last_known_leader_to_isr", partition_key(TOPIC_ID, 1)),
        ("eligible_leader_replicas", partition_key(TOPIC_ID, 2)),
        ("eligible_leader_replicas", partition_key(TOPIC_ID, 3)),
    ]
    assert not all(loss.row.isr for loss in scrubbing.report.losses)


def test_a_leader_without_in_sync_replicas_has_to_go():
    # No controller of ours or Kafka's leaves that; a log may hold it.
    image = image_of(ELR_ON, orders(), partition(isr=(), leader=1, eligible_leader_replicas=(1,)))

    assert scrub_eligible_leader_replicas(image).records[0].record.leader == -1
    assert scrubbed(image).topics.partition("orders", 0).leader == -1


def test_with_in_sync_replicas_everywhere_safe_may_go_on():
    scrubbing = scrub_eligible_leader_replicas(
        image_of(ELR_ON, orders(), partition(replicas=(1, 2), eligible_leader_replicas=(2,)))
    )

    assert scrubbing.records == ((ClearElrRecord(""), 0),)
    assert len(scrubbing.report.losses) == 1
    assert all(loss.row.isr for loss in scrubbing.report.losses)


def test_where_nothing_is_eligible_no_record_is_needed():
    # The second one is without a leader for good, with the feature or without it.
    scrubbing = scrub_eligible_leader_replicas(image_of(ELR_ON, orders(), partition(0), stopped(1)))

    assert scrubbing.records == ()
    assert scrubbing.report.is_lossless
    assert all(loss.row.isr for loss in scrubbing.report.losses)


def test_nothing_else_is_told_and_the_minimum_of_in_sync_replicas_stays():
    tagged = partition()
    tagged.unknown_tagged_fields = ((77, b"x"),)
    image = image_of(ELR_ON, orders(), tagged, ConfigRecord(4, "", "min.insync.replicas", "2"), topic_config("a", "b"))
    after = scrubbed(image)

    assert image.unknown_tags.tags[partition_key(TOPIC_ID, 0)] == (UnknownTag("PartitionRecord", "", 77, b"x"),)
    assert scrub_eligible_leader_replicas(image).report.is_lossless
    assert after.configs is image.configs
    assert after.unknown_tags == image.unknown_tags
