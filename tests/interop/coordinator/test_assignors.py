"""Our assignors and Kafka's own, on the same generated groups."""

import json
from random import Random

import pytest
from assignor_groups import kept, load, made_group
from kafka_java import run_program

from falkirk.coordinator.assignors.range_assignor import RangeAssignor
from falkirk.coordinator.assignors.uniform_assignor import UniformAssignor
from falkirk.protocol.uuid import parse_uuid, uuid_text

pytestmark = pytest.mark.interop

GROUPS_OF_A_KIND = 400


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Groups of every kind with Kafka's assignments: {kind: [(group, our assignments, Kafka's)]}."""
    random = Random(20_848)
    requested = [
        (kind, assignor, group)
        for kind, assignor, is_homogeneous, has_small_ids in (
            ("range homogeneous", RangeAssignor(), True, False),
            ("range heterogeneous", RangeAssignor(), False, False),
            ("uniform homogeneous", UniformAssignor(), True, True),
            ("uniform heterogeneous", UniformAssignor(), False, False),
            ("uniform, topics in any order", UniformAssignor(), True, False),
        )
        for group in (
            made_group(random, is_homogeneous=is_homogeneous, has_small_ids=has_small_ids)
            for _ in range(GROUPS_OF_A_KIND)
        )
        if group.is_homogeneous == is_homogeneous
    ]
    path = tmp_path_factory.mktemp("assignors") / "groups.jsonl"
    path.write_text("".join(json.dumps(_line(assignor.name, group)) + "\n" for _, assignor, group in requested))
    answers = run_program("Assign", [str(path)]).splitlines()
    cases = {}
    for (kind, assignor, group), answer in zip(requested, answers, strict=True):
        cases.setdefault(kind, []).append((group, assignor.assign(group), _read(group, answer)))
    return cases


@pytest.mark.parametrize(
    "kind", ["range homogeneous", "range heterogeneous", "uniform homogeneous", "uniform heterogeneous"]
)
def test_members_get_the_partitions_that_kafka_gives_them(judged, kind):
    for group, ours, kafkas in judged[kind]:
        assert ours == kafkas, group


def test_members_get_and_keep_as_many_partitions_as_with_kafka_whatever_order_its_hash_maps_have(judged):
    for group, ours, kafkas in judged["uniform, topics in any order"]:
        assert {each: load(parts) for each, parts in ours.items()} == {each: load(kafkas[each]) for each in ours}, group
        assert kept(group, ours) == kept(group, kafkas), group


def _line(assignor, group):
    return {
        "assignor": assignor,
        "homogeneous": group.is_homogeneous,
        "topics": {uuid_text(topic_id): count for topic_id, count in group.partition_counts.items()},
        "members": [
            {
                "id": member_id,
                "instance": member.instance_id,
                "topics": [uuid_text(topic_id) for topic_id in sorted(member.subscribed_topic_ids)],
                "target": {
                    uuid_text(topic_id): sorted(partitions)
                    for topic_id, partitions in sorted(member.target_assignment.items())
                },
            }
            for member_id, member in group.members.items()
        ],
    }


def _read(group, answer):
    """Members that Kafka leaves out (of groups without subscriptions) have no partitions."""
    said = json.loads(answer)
    return {
        member_id: {parse_uuid(topic): frozenset(parts) for topic, parts in said.get(member_id, {}).items()}
        for member_id in group.members
    }
