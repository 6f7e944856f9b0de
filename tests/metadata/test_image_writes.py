"""One rich image, written by Kafka's own writers at every metadata.version of 4.3.1 and 4.4.0: records and losses."""

import json
from collections import Counter
from functools import cache

import pytest
from metadata_files import archive, canonical, load_snapshot, snapshot_batches

from falkirk.metadata.levels.writer import LossReport, WriterOptions, write_image
from falkirk.protocol.metadata_record import decode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion

SNAPSHOT = "00000000000000000778-0000000005.checkpoint"
# Where the image was written with everything in it.
WHOLE = {"4.3.1": "mv-30-elr", "4.4.0": "mv-33-elr"}
WRITES = [
    pytest.param(release, write, id=f"{release}-{write['file'].split('/')[0]}")
    for release in WHOLE
    for write in json.loads(archive(f"image-writes-{release}.tar.gz")["losses.json"])
]
PER_OBJECT = {
    "the online log directories of one or more brokers": "broker_log_dirs",
    "the directory assignment state of one or more replicas": "directory_assignment",
    "the cordoned log directories of one or more brokers": "cordoned_log_dirs",
}
# Kafka names these once, whatever their number; the image has so many of each.
AS_A_WHOLE = {
    "controller registration data": {"controller_registration": 1},
    "ScramImage": {"scram_credential": 2},
    "DelegationTokenImage": {"delegation_token": 1},
}


@cache
def whole_image(release):
    return load_snapshot(archive(f"image-writes-{release}.tar.gz")[f"{WHOLE[release]}/{SNAPSHOT}"], SNAPSHOT)


def kafka_wrote(release, write):
    """Return Kafka's records, None where it threw."""
    data = archive(f"image-writes-{release}.tar.gz").get(write["file"])
    if data is None:
        return None
    return [decode_metadata_record(value) for batch in snapshot_batches(data, SNAPSHOT) for value in batch.values]


def we_write(release, write):
    # Kafka's writer keeps features whatever the level.
    options = WriterOptions(
        metadata_version=MetadataVersion.of_level(write["level"]),
        elr_enabled=write["elrEnabled"],
        bootstrap_levels_bind=False,
    )
    report = LossReport()
    return list(write_image(whole_image(release), options, report.add)), report


def areas(records):
    """Return the order in which record types begin; topics and partitions alternate."""
    names = [type(record).__name__ for record, _ in records]
    return list(dict.fromkeys(names))


def elr_feature(records):
    name = "eligible.leader.replicas.version"
    return [item for item in records if item[0] == "FeatureLevelRecord" and name in item[2]]


@pytest.mark.parametrize(("release", "write"), WRITES)
def test_the_records_are_kafkas(release, write):
    kafka = kafka_wrote(release, write)
    ours, _ = we_write(release, write)
    if kafka is None:
        # Kafka's writer threw; ours writes what it does with eligible leader replicas switched off.
        assert write["elrEnabled"]
        assert "eligibleLeaderReplicas" in write["error"]
        kafka = kafka_wrote(release, {**write, "file": write["file"].replace("-elr", "")})

    assert areas(ours) == areas(kafka)
    assert ours[0].record.name == kafka[0][0].name == "metadata.version"
    missing = Counter(canonical(*item) for item in kafka) - Counter(canonical(*item) for item in ours)
    added = Counter(canonical(*item) for item in ours) - Counter(canonical(*item) for item in kafka)
    keeps_elr = write["elrEnabled"] and write["level"] >= MetadataVersion.parse("4.0-IV1").level
    assert not added
    assert list(missing) == ([] if keeps_elr else elr_feature(missing))


@pytest.mark.parametrize(("release", "write"), WRITES)
def test_the_losses_are_kafkas_and_those_that_it_misses(release, write):
    _, report = we_write(release, write)
    kafka = Counter()
    for text, times in write["losses"].items():
        if text in PER_OBJECT:
            kafka[PER_OBJECT[text]] = times
        else:
            kafka.update(next(kinds for start, kinds in AS_A_WHOLE.items() if text.startswith(start)))

    ours = Counter(loss.kind for loss in report.losses)

    level = write["level"]
    keeps_elr = write["elrEnabled"] and level >= MetadataVersion.parse("4.0-IV1").level
    has_cidr = release == "4.4.0" and level < MetadataVersion.parse("4.4-IV1").level
    # Differs from Kafka: docs/reference/operator-differences.md.
    assert ours - kafka == +Counter(eligible_leader_replicas=0 if keeps_elr else 7, cidr_allow_acl=1 if has_cidr else 0)
    assert kafka - ours == Counter()


@pytest.mark.parametrize("release", WHOLE)
def test_kafka_refuses_exactly_where_it_names_a_loss(release):
    for write in (param.values[1] for param in WRITES if param.values[0] == release):
        assert (write["strictWriteError"] is not None) == bool(write["losses"] or write["error"]), write["file"]


@pytest.mark.parametrize("release", WHOLE)
def test_features_that_clusters_do_not_have_at_a_level_are_dropped_and_named(release):
    image = whole_image(release)
    at = MetadataVersion.parse("4.0-IV0")
    report = LossReport()
    records = list(write_image(image, WriterOptions(metadata_version=at), report.add))

    kept = {record.name for record, _ in records if type(record).__name__ == "FeatureLevelRecord"}
    assert kept == {"metadata.version", "group.version"}
    assert {loss.key.identity[0] for loss in report.dropped_features} == set(image.features.finalized) - kept
