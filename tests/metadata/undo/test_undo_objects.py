"""The bundle of a running cluster: what each object was before a change of levels, and what becomes of it."""

import pytest
from live_bundles import live_bundle_bytes
from metadata_images import D1, D2, TOPIC_ID, acl, broker, image_of, orders, partition

from falkirk.metadata.levels.lowering import lower
from falkirk.metadata.undo.live_bundle import LiveBundle
from falkirk.metadata.undo.undo_bundle import KeptTag, format_bundle, parse_bundle
from falkirk.protocol.messages import FeatureLevelRecord, VotersRecord
from falkirk.versions.metadata_version import MetadataVersion

ELR = "eligible.leader.replicas.version"
STOPPED = partition(replicas=(1, 2), isr=(), leader=-1, eligible_leader_replicas=(2,), directories=(D1, D2))


def bundle_of(image, levels, kraft_version=0):
    return parse_bundle(live_bundle_bytes(image, levels, kraft_version=kraft_version, voters=VotersRecord()))


def test_it_has_each_object_as_it_was_and_as_it_is_lowered():
    image = image_of(FeatureLevelRecord(ELR, 1), broker(1, log_dirs=(D1, D2)), orders(), STOPPED, acl("10.0.0.0/8"))
    bundle = bundle_of(image, {"metadata.version": 16})
    after = lower(image, MetadataVersion.of_level(16), image.provenance).image

    assert (bundle.level_before, bundle.level_after, bundle.features_before) == (
        33,
        16,
        {ELR: 1, "metadata.version": 33},
    )
    changes = {change.kind: change for change in bundle.objects}
    assert list(changes) == ["directory_assignment", "broker_log_dirs", "cidr_allow_acl", "feature_dropped"]
    assert changes["directory_assignment"].before[0] == STOPPED
    found = after.topics.partition("orders", 0)
    expected = found.to_record(TOPIC_ID, 0, MetadataVersion.of_level(16), elr_enabled=False)
    assert changes["directory_assignment"].written == expected
    assert (found.isr, found.partition_epoch) == ((2,), 10)
    assert changes["feature_dropped"].written is None


def test_features_that_the_same_request_lowers_are_in_it():
    image = image_of(FeatureLevelRecord("transaction.version", 2), FeatureLevelRecord("group.version", 1))
    bundle = bundle_of(image, {"transaction.version": 1, "group.version": 0, "share.version": 1})

    assert (bundle.level_before, bundle.level_after) == (33, 33)
    assert [(change.kind, change.key, change.before[0].feature_level) for change in bundle.objects] == [
        ("feature_dropped", "feature group.version", 1),
        ("feature_lowered", "feature transaction.version", 2),
    ]
    assert bundle.objects[1].written == (FeatureLevelRecord("transaction.version", 1), 0)


def test_eligible_leader_replicas_that_are_switched_off_are_in_it_at_any_level():
    bundle = bundle_of(image_of(FeatureLevelRecord(ELR, 1), orders(), STOPPED), {ELR: 0})

    assert [change.kind for change in bundle.objects] == ["elr_to_isr", "feature_dropped"]
    assert bundle.objects[0].written[0].partition_epoch == 10


def test_a_broker_that_only_reads_differently_is_in_it():
    bundle = bundle_of(image_of(broker(1, log_dirs=(D1,)), broker(2)), {"metadata.version": 16})

    assert [(change.kind, change.key) for change in bundle.objects] == [("broker", "broker 1")]


def test_unknown_tagged_fields_are_kept():
    tagged = orders()
    tagged.unknown_tagged_fields = ((77, b"x"),)
    (change,) = bundle_of(image_of(tagged), {"metadata.version": 30}).objects

    assert change.before is None
    assert change.unknown_tags == (KeptTag("TopicRecord", "", 77, b"x"),)


def test_unknown_tagged_fields_that_came_and_went_meanwhile_are_taken_back():
    tagged, plain, levels = orders(), image_of(orders()), {"metadata.version": 30}
    tagged.unknown_tagged_fields = ((77, b"x"),)
    bundle, data = LiveBundle(plain, levels), b""
    for image in (image_of(tagged), plain):
        assert bundle.holds_for(image, levels)
        for name, topic in bundle.missing(image):
            data += b"".join(added for added, _ in bundle.add(image, name, topic))
    data += bundle.finish(plain, cluster_id="c", kraft_version=0, voters=None, offset=7)

    assert parse_bundle(data).objects == ()


@pytest.mark.parametrize(("kraft_version", "voters"), [(0, None), (1, VotersRecord())])
def test_voters_are_those_of_the_log(kraft_version, voters):
    bundle = bundle_of(image_of(), {"metadata.version": 30}, kraft_version)

    assert bundle.voters == voters
    assert (bundle.kraft_version_before, bundle.kraft_version_after, bundle.groups) == (
        kraft_version,
        kraft_version,
        {},
    )


def test_equal_bundles_are_equal_bytes_whatever_the_clock_says():
    image = image_of(broker(1, log_dirs=(D1, D2)), orders(), STOPPED)
    bundle = bundle_of(image, {"metadata.version": 15})

    data = format_bundle(bundle)
    assert format_bundle(parse_bundle(data)) == data
    assert parse_bundle(data) == bundle
