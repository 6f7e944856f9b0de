import pytest

from falkirk.dump.scala_order import ScalaOrder, java_string_hash, map_order, topic_partition_hash


def order(plan):
    """Add topic after topic with so many partitions, as the tool does."""
    order, partitions = ScalaOrder(), []
    for topic, count in enumerate(plan):
        order.add_set(count, new=count)
        partitions += [(f"t{topic}", partition) for partition in range(count)]
    ordered = order.sort(partitions, lambda partition: topic_partition_hash(*partition))
    return " ".join(f"{topic}-{partition}" for topic, partition in ordered)


# Printed by scala.collection.mutable.HashSet of the Scala library that Kafka 3.7.2 and 4.0.0 bring.
SETS = {
    (3, 3, 3, 3, 3, 3): ("t3-0 t4-1 t5-2 t4-0 t5-1 t5-0 t0-2 t0-1 t1-2 t0-0 t1-1 t2-2 t1-0 t2-1 t3-2 t2-0 t3-1 t4-2"),
    (4, 4, 4): ("t0-3 t0-2 t1-3 t0-1 t1-2 t2-3 t0-0 t1-1 t2-2 t1-0 t2-1 t2-0"),
    (5, 3, 3, 3): ("t3-0 t0-4 t0-3 t0-2 t0-1 t1-2 t0-0 t1-1 t2-2 t1-0 t2-1 t3-2 t2-0 t3-1"),
    (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1): ("t3-0 t4-0 t5-0 t6-0 t7-0 t8-0 t9-0 t11-0 t10-0 t12-0 t0-0 t1-0 t2-0"),
    (12, 4, 4): (
        "t0-11 t0-10 t0-9 t0-8 t0-7 t0-6 t0-5 t0-4 t0-3 t0-2 t1-3 t0-1 t1-2 t2-3 t0-0 t1-1 t2-2 t1-0 t2-1 t2-0"
    ),
    (2, 9, 2, 9, 2): (
        "t3-0 t4-0 t1-7 t1-5 t3-7 t1-3 t3-5 t0-1 t1-1 t3-3 t2-1 t3-1 t4-1 t1-8 t1-6 t3-8 t1-4 t3-6 t1-2 t3-4 "
        "t0-0 t1-0 t3-2 t2-0"
    ),
    (30, 1, 1, 1, 1, 1): (
        "t3-0 t0-29 t4-0 t5-0 t0-27 t0-25 t0-23 t0-21 t0-19 t0-17 t0-15 t0-13 t0-11 t0-9 t0-7 t0-5 t0-3 t0-1 "
        "t0-28 t0-26 t0-24 t0-22 t0-20 t0-18 t0-16 t0-14 t0-12 t0-10 t0-8 t0-6 t0-4 t0-2 t0-0 t1-0 t2-0"
    ),
}


@pytest.mark.parametrize(("plan", "text"), SETS.items(), ids=str)
def test_sets_of_partitions_have_scalas_order(plan, text):
    assert order(plan) == text


# Printed by scala.collection.mutable.HashMap, likewise.
MAPS = {
    5: ("member-d-111 member-b-37 member-e-148 member-a-0 member-c-74"),
    12: (
        "member-e-407 member-d-370 member-g-222 member-d-111 member-b-296 member-a-0 member-c-74 member-c-333 "
        "member-b-37 member-e-148 member-f-185 member-a-259"
    ),
    13: (
        "member-e-407 member-d-370 member-g-222 member-d-111 member-b-296 member-a-0 member-c-74 member-c-333 "
        "member-f-444 member-b-37 member-e-148 member-f-185 member-a-259"
    ),
}


@pytest.mark.parametrize(("count", "text"), MAPS.items())
def test_maps_of_members_have_scalas_order(count, text):
    members = [f"member-{chr(ord('a') + index % 7)}-{index * 37}" for index in range(count)]
    assert " ".join(map_order(members)) == text


def test_hashes_are_those_of_java():
    assert [java_string_hash(text) for text in ("", "a", "__consumer_offsets", "ключ", "🙂")] == [
        0,
        97,
        -970371369,
        33309882,
        1772965,
    ]
    assert topic_partition_hash("topic-0", 27) == -1139258856
