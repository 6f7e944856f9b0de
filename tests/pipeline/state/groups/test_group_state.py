"""Groups and members of a partition, against the survey record by record and what Kafka's Admin said."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from coordinator_logs import OFFSETS_TOPIC, RELEASES, all_real_partitions, variants
from fleet_clusters import CLUSTER_NAMES, fleet_cluster
from group_records import Log, member, subscription
from group_rows import NOW_MS, rows_of_chunks
from predictions import surveyed_groups
from stopped_clusters import DISK, cluster_at

from falkirk.logdir.group_records import Replica, _by_partition
from falkirk.pipeline.filesystem import open_location
from falkirk.pipeline.readers.coordinator_segments import end_offset
from falkirk.pipeline.state.groups.group_state import GroupState, coordinator_replicas, group_state
from falkirk.pipeline.tables.groups import COMMITTED_OFFSETS, GROUP_MEMBERS, GROUPS
from falkirk.protocol.messages.consumer_group_member_metadata_value import ClassicMemberMetadata, ClassicProtocol
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.partition_directory import GROUPS_TOPIC, TRANSACTIONS_TOPIC

EXPECTED = Path(__file__).parents[3] / "data" / "metadata"
MEMBER = re.compile(r"memberId=([^,]+),.*?memberEpoch=(\d+)")


def tables_of(entries, *, chunk=1000):
    state = GroupState(3)
    for rows in rows_of_chunks(entries, chunk):
        state.add(rows)
    tables = state.tables()
    assert list(tables) == [GROUPS.name, GROUP_MEMBERS.name, COMMITTED_OFFSETS.name]
    for table in (GROUPS, GROUP_MEMBERS, COMMITTED_OFFSETS):
        assert tables[table.name].schema.equals(table.schema, check_metadata=True)
    return tables


def counts(tables):
    columns = ["group", "type", "members", "committed_offsets", "pending_offsets"]
    return {row["group"]: tuple(row.values())[1:] for row in tables["groups"].select(columns).to_pylist()}


def surveyed(entries):
    return {
        name: (group.type.value, group.members, len(group.committed), len(group.pending))
        for name, group in surveyed_groups(entries).items()
    }


def members_of(entries):
    return tables_of(entries)["group_members"].to_pylist()


@pytest.mark.slow
def test_groups_are_those_of_a_survey_record_by_record():
    for entries in [*all_real_partitions(OFFSETS_TOPIC), *variants(31, 60)]:
        tables = tables_of(entries, chunk=13)
        assert counts(tables) == surveyed(entries)
        found = tables["group_members"].select(["group"]).to_pylist()
        assert len(found) == sum(members for _, members, _, _ in surveyed(entries).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_of_each_partition_the_replica_that_goes_furthest_is_read_and_tells_the_same_groups(kafka_directory, name):
    path = kafka_directory(name)
    cluster = fleet_cluster(path)
    for topic in (GROUPS_TOPIC, TRANSACTIONS_TOPIC):
        wanted = {
            partition: max(replicas, key=Replica.end_offset)
            for partition, replicas in _by_partition(DISK, cluster_at(path), topic).items()
        }
        found = coordinator_replicas(cluster, topic)
        assert {partition: (at.path, node_id) for partition, (at, node_id) in found.items()} == {
            partition: (str(replica.path), replica.node.node_id) for partition, replica in wanted.items()
        }
        for partition, (directory, node_id) in found.items():
            assert end_offset(directory) == wanted[partition].end_offset()
            if topic == GROUPS_TOPIC:
                tables, problems = group_state(directory, partition, node_id)
                assert problems == []
                assert counts(tables) == surveyed(wanted[partition])


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_groups_members_and_offsets_are_what_kafka_said_of_them(kafka_directory, release):
    with gzip.open(EXPECTED / f"cluster-{release}.expected.json.gz") as file:
        expected = json.load(file)
    topics = {topic["id"]: name for name, topic in expected["topics"].items()}
    rows = {"groups": [], "group_members": [], "committed_offsets": []}
    for partition, (directory, node_id) in coordinator_replicas(
        fleet_cluster(kafka_directory(release)), GROUPS_TOPIC
    ).items():
        for table, found in group_state(directory, partition, node_id)[0].items():
            rows[table] += found.to_pylist()
    assert {row["group"] for row in rows["groups"]} == set(expected["groups"])
    for name, group in expected["groups"].items():
        offsets = {
            f"{row['topic']}-{row['topic_partition']}": [row["committed_offset"], row["leader_epoch"], row["metadata"]]
            for row in rows["committed_offsets"]
            if row["group"] == name
        }
        assert offsets == group["offsets"]
        members = [row for row in rows["group_members"] if row["group"] == name]
        if "members" in group:
            assert sorted((_as_kafka_says(row, topics) for row in members), key=lambda each: each["id"]) == sorted(
                group["members"], key=lambda each: each["id"]
            )
        elif (told := group.get("share", group.get("streams"))) != "null":
            assert {(row["member_id"], str(row["member_epoch"])) for row in members} == set(MEMBER.findall(told))
            assert all(f"clientId={row['client_id']}" in told for row in members)


def _as_kafka_says(row, topics):
    return {
        "id": row["member_id"],
        "client": row["client_id"],
        "host": row["client_host"],
        "instance": row["instance_id"],
        "assignment": sorted(
            f"{topics.get(each['topic'], each['topic'])}-{partition}"
            for each in row["assigned"] or ()
            for partition in each["partitions"]
        ),
    }


def test_members_of_a_classic_group_of_consumers_have_topics_and_partitions_by_name():
    log = Log()
    fields = {"client_id": "c", "client_host": "/h", "group_instance_id": "i"}
    assignment = b"\0\1" + b"\0\0\0\1\0\1t" + b"\0\0\0\2\0\0\0\5\0\0\0\4" + b"\xff\xff\xff\xff"
    one = {"member_id": "m", "subscription": subscription("t", "u"), "assignment": assignment, **fields}
    log.value(2, {"group": "g"}, protocol_type="consumer", protocol="range", generation=4, members=[one])
    [row] = members_of(log.entries)
    assert row == {
        "group": "g", "type": "classic", "partition": 3, "member_id": "m", "instance_id": "i", "client_id": "c",
        "client_host": "/h", "protocol": "classic", "member_epoch": None, "rack_id": None,
        "subscribed_topics": ["t", "u"], "subscribed_regex": None,
        "assigned": [{"topic": "t", "partitions": [4, 5]}],
    }  # fmt: skip
    [group] = tables_of(log.entries)["groups"].to_pylist()
    assert (group["epoch"], group["protocol_type"], group["protocol"]) == (4, "consumer", "range")


def test_what_members_of_other_protocol_types_wrote_is_not_looked_into():
    log = Log()
    log.classic("g", "m", protocol_type="connect")
    [row] = members_of(log.entries)
    assert (row["member_id"], row["subscribed_topics"], row["assigned"]) == ("m", None, None)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 9])
def test_a_subscription_is_read_at_any_version_newer_ones_like_the_newest(version):
    data = version.to_bytes(2, "big") + subscription("t")[2:]
    data += b"\0\0\0\0" * (version >= 1) + b"\0\0\0\1" * (version >= 2) + b"\0\2r1" * (version >= 3)
    log = Log()
    log.value(2, {"group": "g"}, protocol_type="consumer", members=[{"member_id": "m", "subscription": data}])
    [row] = members_of(log.entries)
    assert (row["subscribed_topics"], row["rack_id"]) == (["t"], "r1" if version >= 3 else None)


def test_a_subscription_that_does_not_parse_leaves_the_member_without_topics():
    log = Log()
    log.value(2, {"group": "g"}, protocol_type="consumer", members=[{"member_id": "m", "subscription": b"\0\0\0"}])
    [row] = members_of(log.entries)
    assert (row["member_id"], row["subscribed_topics"]) == ("m", None)


def test_a_consumer_group_may_have_members_of_the_classic_protocol():
    log = Log()
    log.value(3, "g", epoch=6)
    classic = ClassicMemberMetadata(supported_protocols=[ClassicProtocol("range")])
    log.value(5, member("g", "old"), client_id="o", subscribed_topic_names=("t",), classic_member_metadata=classic)
    log.value(5, member("g", "new"), client_id="n", subscribed_topic_regex="t.*", classic_member_metadata=None)
    assigned = [{"topic_id": bytes([7]) * 16, "partitions": (1, 0)}]
    log.value(8, member("g", "new"), member_epoch=6, assigned_partitions=assigned)
    old, new = members_of(log.entries)
    assert (old["protocol"], old["subscribed_topics"], old["subscribed_regex"]) == ("classic", ["t"], None)
    assert (old["member_epoch"], old["assigned"]) == (None, None)
    assert (new["protocol"], new["subscribed_topics"], new["subscribed_regex"]) == ("consumer", [], "t.*")
    assert (new["member_epoch"], new["assigned"]) == (6, [{"topic": uuid_text(bytes([7]) * 16), "partitions": [0, 1]}])
    [group] = tables_of(log.entries)["groups"].to_pylist()
    assert (group["epoch"], group["protocol_type"]) == (6, None)


@pytest.mark.parametrize("release", ["3.7", "3.8", "4.4"])
def test_members_are_read_whichever_release_wrote_them(release):
    log = Log(release)
    log.value(5, member("g"), client_id="c", subscribed_topic_names=("t",))
    log.value(8, member("g"), member_epoch=2, assigned_partitions=[{"topic_id": bytes(16), "partitions": (3,)}])
    [row] = members_of(log.entries)
    assert (row["client_id"], row["protocol"], row["member_epoch"]) == ("c", "consumer", 2)
    assert row["assigned"] == [{"topic": uuid_text(bytes(16)), "partitions": [3]}]


def test_members_of_a_streams_group_have_their_active_tasks():
    log = Log()
    log.value(17, "g", epoch=2)
    log.value(19, member("g"), client_id="c", process_id="p")
    log.value(22, member("g"), member_epoch=2, active_tasks=[{"subtopology_id": "0", "partitions": (1,)}])
    [row] = members_of(log.entries)
    assert (row["protocol"], row["subscribed_topics"]) == ("streams", None)
    assert row["assigned"] == [{"topic": "0", "partitions": [1]}]


def test_a_member_whose_record_no_release_can_read_has_but_its_id():
    log = Log()
    log.value(3, "g", epoch=1)
    log.raw(log.key(5, member("g", "m")), b"\0\0\xff")
    [row] = members_of(log.entries)
    assert (row["member_id"], row["client_id"], row["protocol"]) == ("m", None, "consumer")


def test_the_last_record_of_a_group_tells_when_it_was_written_about_last():
    log = Log()
    log.commit("g")
    log.commit("h")
    log.commit("g")
    log.commit("h")
    log.forget("g", 5)
    found = tables_of(log.entries, chunk=2)["groups"].to_pylist()
    times = {row["group"]: round(row["last_timestamp"].timestamp() * 1000) - NOW_MS for row in found}
    assert times == {"g": 4, "h": 3}


def test_a_partition_with_damage_is_read_around_it(kafka_directory, tmp_path):
    directory, node_id = coordinator_replicas(fleet_cluster(kafka_directory("4.4.0")), GROUPS_TOPIC)[0]
    copy = shutil.copytree(directory.path, tmp_path / "__consumer_offsets-0")
    [log] = copy.glob("*.log")
    log.write_bytes(log.read_bytes()[:-5])
    whole, _ = group_state(directory, 0, node_id)
    tables, [problem] = group_state(open_location(str(copy)), 0, node_id)
    assert (problem["kind"], problem["source"], problem["node_id"]) == ("torn tail", str(log), 1)
    assert 0 < len(tables["groups"]) <= len(whole["groups"])


def test_a_segment_that_cannot_be_read_is_told_and_those_behind_it_count(kafka_directory, tmp_path):
    directory, _ = coordinator_replicas(fleet_cluster(kafka_directory("4.4.0")), GROUPS_TOPIC)[0]
    copy = shutil.copytree(directory.path, tmp_path / "__consumer_offsets-0")
    [log] = copy.glob("*.log")
    log.rename(copy / f"{1:020}.log")
    log.mkdir()
    tables, [problem] = group_state(open_location(str(copy)), 0)
    assert (problem["kind"], problem["source"]) == ("unreadable file", str(log))
    assert counts(tables) == counts(group_state(directory, 0)[0])
