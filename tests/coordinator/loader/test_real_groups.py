"""A shard that has loaded what a real broker left answers as that broker did: groups, members, assignments, offsets."""

import gzip
import json
from base64 import urlsafe_b64decode
from pathlib import Path

import pytest
from consumer_world import FakeTopic, FakeTopics
from coordinator_logs import OFFSETS_TOPIC, RELEASES, real_partitions
from offsets_world import OffsetsWorld, empty_shard, load

from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.coordinator.runtime.client import ClientContext
from falkirk.protocol import codec
from falkirk.protocol.messages import ConsumerProtocolAssignment

EXPECTED = Path(__file__).parents[2] / "data" / "metadata"
CLIENT = ClientContext(api_version=6)


@pytest.mark.parametrize("release", RELEASES)
def test_groups_are_answered_for_as_the_broker_did(release):
    with gzip.open(EXPECTED / f"cluster-{release}.expected.json.gz") as file:
        expected = json.load(file)
    topics = FakeTopics(
        {
            name: FakeTopic(urlsafe_b64decode(topic["id"] + "=="), ((),) * len(topic["partitions"]))
            for name, topic in expected["topics"].items()
        }
    )
    found = {}
    # 3.9 ran the new coordinator there: it has groups of both protocols.
    kind = CoordinatorKind.OLD if release == "3.7.2" else CoordinatorKind.NEW
    for entries in real_partitions(release, OFFSETS_TOPIC).values():
        shard = empty_shard(release, kind, topics=topics)
        assert load(shard, entries) is None
        found |= {listed.group_id: answers(shard, listed, topics) for listed in shard.list_groups((), ())}
    assert found.keys() == expected["groups"].keys()
    for group_id, group in expected["groups"].items():
        assert found[group_id] == told(group, found[group_id])


def answers(shard, listed, topics):
    world = OffsetsWorld()
    world.shard = shard
    offsets = {
        f"{topic.name}-{each.partition_index}": [each.committed_offset, each.committed_leader_epoch, each.metadata]
        for topic in world.fetch_group(group=listed.group_id).topics
        for each in topic.partitions
    }
    is_consumer = listed.group_type == "consumer"
    group_ids = [listed.group_id]
    consumer, classic = shard.describe_consumer_groups(group_ids, 1), shard.describe_groups(CLIENT, group_ids, 1)
    (reply,) = (consumer if is_consumer else classic).replies
    (group,) = reply.response.groups
    return {
        "type": listed.group_type,
        "state": listed.group_state,
        "protocol": listed.protocol_type,
        "offsets": offsets,
        "assignor": group.assignor_name if is_consumer else group.protocol_data,
        "members": [consumer_member(member) if is_consumer else classic_member(member) for member in group.members],
    }


def told(group, found):
    """Return what the broker's tools told of a group as `answers` does; what they did not tell as it was found."""
    protocol = group["listing"].split("/")[2] if group["listing"].count("/") == 2 else found["protocol"]
    type_ = group["listing"].split("/")[0].lower() or found["type"]
    is_known = "members" in group
    # Differs from Kafka: a streams group that has members counts as stable.
    state = found["state"] if type_ == "streams" else group["listing"].split("/")[1]
    return {
        "type": type_,
        "state": state,
        "protocol": protocol,
        "offsets": group["offsets"],
        "assignor": group["assignor"] if is_known else found["assignor"],
        "members": in_order(group["members"], found["members"]) if is_known else [],
    }


def in_order(members, found):
    places = {member["id"]: place for place, member in enumerate(found)}
    return sorted(members, key=lambda member: places.get(member["id"], -1))


def consumer_member(member):
    return {
        "id": member.member_id,
        "client": member.client_id,
        "host": member.client_host,
        "instance": member.instance_id,
        "assignment": sorted(
            f"{topic.topic_name}-{partition}"
            for topic in member.assignment.topic_partitions
            for partition in topic.partitions
        ),
    }


def classic_member(member):
    assignment, _ = codec.decode_prefix(ConsumerProtocolAssignment, 0, member.member_assignment, 2)
    return {
        "id": member.member_id,
        "client": member.client_id,
        "host": member.client_host,
        "instance": member.group_instance_id,
        "assignment": sorted(
            f"{topic.topic}-{partition}" for topic in assignment.assigned_partitions for partition in topic.partitions
        ),
    }
