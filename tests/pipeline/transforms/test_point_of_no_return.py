"""Behind which record an upgrade cannot be taken back, against the images of the log, record by record."""

import json

import pytest
from state_reference import history_of

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.levels.minimum_version import minimum_version
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.pipeline.transforms.point_of_no_return import point_of_no_return
from falkirk.protocol.messages import METADATA_RECORDS, FeatureLevelRecord
from falkirk.versions.metadata_version import MetadataVersion

ELR = {"isr": [1], "eligible_leader_replicas": [2]}


def upgrades(cluster):
    """Yield (from, to, offset) of each change of metadata.version upwards, and where the level was no higher again."""
    moves, level = [], 0
    for told in [*history_of(cluster).earlier, *history_of(cluster).behind]:
        record = told.record
        if isinstance(record, FeatureLevelRecord) and record.name == "metadata.version":
            moves.append((level, record.feature_level, told.offset))
            level = record.feature_level
    for before, after, offset in moves:
        if 0 < before < after:
            yield before, after, offset, min((at for _, to, at in moves if at > offset and to <= before), default=None)


def images(cluster):
    """Yield each record of the log with the image behind it."""
    image = EMPTY
    for told in [*history_of(cluster).earlier, *history_of(cluster).behind]:
        if type(told.record).__name__ in METADATA_RECORDS.values():
            delta = MetadataDelta(image)
            delta.replay(told.record)
            image = delta.apply(Provenance())
            yield told, image


def first_behind(cluster, level, offset, until):
    """Return offset and type of the first record behind which the image does not fit a level, None if it never did."""
    for told, image in images(cluster):
        fits = minimum_version(image, floor=MetadataVersion.of_level(level)).version.level <= level
        if told.offset == offset and not fits:
            return None
        if told.offset > offset and not fits and (until is None or told.offset < until):
            return told.offset, type(told.record).__name__
    return None, None


@pytest.mark.slow
def test_it_is_the_first_record_behind_which_the_image_does_not_fit_the_level_before(metadata_fleet):
    wanted = {}
    for name, cluster in metadata_fleet.clusters.items():
        for before, after, offset, until in upgrades(cluster):
            wanted[name, before, after, offset] = first_behind(cluster, before, offset, until)
    rows = point_of_no_return()(metadata_fleet.tables).collect()
    found = {(row.cluster, row.from_level, row.to_level, row.upgrade_offset): (row.offset, row.record) for row in rows}
    assert found.keys() == wanted.keys()
    # Where the level went down with everything in it, the image did not fit from the start.
    fitting = {key: place for key, place in wanted.items() if place is not None}
    assert {key: found[key] for key in fitting} == fitting
    assert len({record for _, record in fitting.values()}) > 3


def level(offset, before, after):
    return {
        "feature": "metadata.version", "from_level": before, "to_level": after, "offset": offset, "timestamp": offset,
        "is_current": False,
    }  # fmt: skip


def record(offset, name, *, is_snapshot=False, key=None, form=None, **typed):
    return {
        "is_snapshot": is_snapshot, "offset": offset, "timestamp": offset, "record_name": name,
        "key": None if key is None else json.dumps(key), "json": None if form is None else json.dumps(form), **typed,
    }  # fmt: skip


def partition(offset, **fields):
    return record(offset, "PartitionRecord", partition={"topic_id": "t", "partition_id": 7, **fields})


def change(offset, **fields):
    return record(offset, "PartitionChangeRecord", partition_change={"topic_id": "t", "partition_id": 7, **fields})


def acl(offset, host):
    return record(
        offset, "AccessControlEntryRecord", key={"id": "A"}, form={"id": "A", "host": host, "permissionType": 3}
    )  # fmt: skip


def broker(offset, **form):
    return record(offset, "BrokerRegistrationChangeRecord", key={"brokerId": 3}, form={"brokerId": 3, **form})


CASES = {
    "a snapshot's offsets are others": (
        [level(5, 21, 25)],
        [record(6, "PartitionRecord", is_snapshot=True, partition={"topic_id": "t", "partition_id": 0, **ELR})],
        [(21, None, None, None)],
    ),
    "what came before does not count": ([level(5, 21, 25)], [partition(4, **ELR)], [(21, None, None, None)]),
    "a level that is told by a snapshot is no upgrade": ([level(None, None, 25)], [partition(4, **ELR)], []),
    "nor is the first": ([level(2, 0, 25)], [partition(4, **ELR)], []),
    "of two upgrades each has its own": (
        [level(2, 15, 21), level(6, 21, 25)],
        [broker(3, logDirs=["a"]), broker(4, logDirs=["a", "b"]), change(7, eligible_leader_replicas=[2])],
        [
            (15, "broker_log_dirs", "broker 3", 4),
            (21, "eligible_leader_replicas", "topic orders partition 7", 7),
        ],
    ),
    "an upgrade that was taken back ends there": (
        [level(2, 21, 25), level(6, 25, 21), level(8, 21, 25)],
        [change(9, isr=[], eligible_leader_replicas=[2])],
        [(21, None, None, None), (21, "elr_to_isr", "topic orders partition 7", 9)],
    ),
    "a host is a range from 4.4-IV1 on": (
        [level(2, 25, 31), level(6, 31, 32)],
        [acl(3, "10.0.0.0/8"), acl(8, "10.0.0.0/8"), acl(9, "10.0.0.0/8")],
        [(25, "cidr_allow_acl", "acl A", 8), (31, "cidr_allow_acl", "acl A", 8)],
    ),
    "one log dir of a broker is derived": (
        [level(2, 15, 19)],
        [
            partition(3, replicas=[1], directories=["one"]), change(4, directories=["one"]),
            change(5, directories=["two"]),
        ],
        [(15, "directory_assignment", "topic orders partition 7", 5)],
    ),
    "an empty list is no list": (
        [level(2, 21, 25)],
        [partition(3, isr=[1], eligible_leader_replicas=[], last_known_elr=[]), change(4, isr=[])],
        [(21, None, None, None)],
    ),
    "what is below the floor is told too": (
        [level(2, 7, 11)],
        [record(3, "UserScramCredentialRecord", key={"name": "u", "mechanism": 2}, form={})],
        [(7, "scram_credential", "user u SCRAM-SHA-512", 3)],
    ),
}  # fmt: skip


@pytest.mark.slow
def test_small_histories(tables_of):
    def rows(index):
        return [{"cluster": name, **row} for name, case in CASES.items() for row in case[index]]

    topics = [{"cluster": name, "topic_id": "t", "name": "orders"} for name in CASES]
    brokers = [{"cluster": name, "broker_id": 1, "log_dirs": ["one"]} for name in CASES]
    tables = tables_of(feature_levels=rows(0), metadata_records=rows(1), topics=topics, brokers=brokers)
    found = {name: [] for name in CASES}
    for row in point_of_no_return()(tables).orderBy("cluster", "upgrade_offset").collect():
        found[row.cluster].append((row.from_level, row.kind, row.key, row.offset))
    assert found == {name: wanted for name, (_, _, wanted) in CASES.items()}


def test_every_rule_of_partitions_is_borne_by_changes_too():
    """A partition is made once, and then changes: a rule without a bearer there would never be met."""
    without = [rule.kind for rule in CATALOGUE if "PartitionChangeRecord" in rule.written_by and not rule.borne_by]
    assert without == ["partition_without_replica"]  # nothing is lost with it
