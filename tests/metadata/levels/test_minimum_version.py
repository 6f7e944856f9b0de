import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from metadata_files import CLUSTERS, archive, directories, load_log, load_snapshot
from metadata_images import D1, D2, acl, broker, image_of, options_at, orders, partition, random_image

from falkirk.metadata.levels.minimum_version import minimum_version
from falkirk.metadata.levels.writer import assess
from falkirk.protocol.messages import FeatureLevelRecord, UserScramCredentialRecord
from falkirk.versions.metadata_version import FLOOR, MetadataVersion

LOWEST = MetadataVersion.parse("3.3-IV3")
SCRAM = UserScramCredentialRecord("alice", 1, b"", b"", b"", 4096)


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_it_is_the_lowest_level_at_which_nothing_is_lost(seed, level):
    image = random_image(seed, level)
    found = minimum_version(image, floor=LOWEST)

    def is_held_at(level):
        # Whether the feature is on is not the question here.
        report = assess(image, options_at(level, elr_enabled=level >= 23))
        return not report.losses

    assert is_held_at(found.version.level)
    assert found.version == LOWEST or not is_held_at(found.version.level - 1)


@given(seed=st.integers(0, 2**32), level=st.integers(7, 33))
def test_the_reasons_are_the_losses_one_level_below(seed, level):
    image = random_image(seed, level)
    found = minimum_version(image, floor=LOWEST)
    if not found.because:
        return
    report = assess(image, options_at(found.version.level - 1))
    below = {(loss.kind, loss.key) for loss in report.losses}

    assert {(item.kind, item.key) for item in found.because} == {
        (kind, key) for kind, key in below if (kind, key) in {(item.kind, item.key) for item in found.because}
    }
    assert found.because_count == len(found.because)
    assert all(item.level == found.version.level for item in found.because)


def test_nothing_forces_the_floor():
    found = minimum_version(image_of(SCRAM))

    assert (found.version, found.because) == (FLOOR, ())
    assert minimum_version(image_of(SCRAM), floor=LOWEST).version == MetadataVersion.parse("3.5-IV2")


@pytest.mark.parametrize(
    ("records", "version", "key"),
    [
        ([broker(log_dirs=(D1, D2))], "3.7-IV2", "broker 1"),
        ([orders(), partition(eligible_leader_replicas=(2,))], "4.0-IV1", "topic orders partition 0"),
        ([broker(cordoned_log_dirs=(D1,))], "4.3-IV0", "broker 1"),
        ([acl("10.0.0.0/8")], "4.4-IV1", "acl YWFhYWFhYWFhYWFhYWFhYQ"),
    ],
)
def test_the_highest_need_decides_and_is_named(records, version, key):
    found = minimum_version(image_of(SCRAM, *records))

    assert str(found.version) == version
    assert [item.key_text for item in found.because] == [key]
    assert found.as_json()["level"] == found.version.level
    json.dumps(found.as_json())


def test_what_is_written_in_another_form_counts_as_well():
    image = image_of(orders(), partition(isr=(), leader=-1, eligible_leader_replicas=(1,)))
    (reason,) = minimum_version(image).because

    assert (reason.kind, reason.level) == ("elr_to_isr", 23)


def test_many_reasons_are_counted_and_some_of_them_named():
    image = image_of(orders(), *(partition(number, eligible_leader_replicas=(2,)) for number in range(9)))
    found = minimum_version(image, because_max=4)

    assert (len(found.because), found.because_count) == (4, 9)


def test_features_force_nothing_and_are_told_apart():
    image = image_of(FeatureLevelRecord("eligible.leader.replicas.version", 1), FeatureLevelRecord("group.version", 1))
    found = minimum_version(image, levels=image.features.levels(kraft_version=1))

    assert found.version == FLOOR
    assert [(need.name, need.level, str(need.metadata_version)) for need in found.features] == [
        ("eligible.leader.replicas.version", 1, "4.0-IV1"),
        ("kraft.version", 1, "3.9-IV0"),
    ]


@pytest.mark.parametrize(
    ("release", "write", "version"), [("4.3.1", "mv-30-elr", "4.3-IV0"), ("4.4.0", "mv-33-elr", "4.4-IV1")]
)
def test_of_the_image_that_kafka_wrote(release, write, version):
    name = "00000000000000000778-0000000005.checkpoint"
    image = load_snapshot(archive(f"image-writes-{release}.tar.gz")[f"{write}/{name}"], name)

    assert str(minimum_version(image).version) == version


@pytest.mark.parametrize(
    ("release", "version"), list(zip(CLUSTERS, ("3.7-IV2", "3.7-IV0", *["4.0-IV1"] * 3), strict=True))
)
def test_of_real_clusters(release, version):
    # 3.7.2 has two log dirs; from 4.0 on, the stopped broker's partitions live by their eligible replicas.
    image = load_log(directories(f"cluster-{release}.tar.gz")["."].log_batches())

    assert str(minimum_version(image).version) == version


def test_an_address_range_is_nothing_to_lose_where_it_never_was_more_than_a_hosts_name():
    range_acl = acl("10.0.0.0/8")
    meant, taken_literally = image_of(range_acl, level=33), image_of(range_acl, level=30)

    assert [loss.kind for loss in assess(meant, options_at(21)).losses] == ["cidr_allow_acl"]
    assert minimum_version(meant).version.level > 30
    assert assess(taken_literally, options_at(21)).losses == []
    assert minimum_version(taken_literally).version == FLOOR
