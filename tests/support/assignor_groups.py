"""Generated groups for assignors: members, their subscriptions, and the partitions that they own."""

from collections import Counter
from collections.abc import Mapping
from random import Random

from falkirk.coordinator.assignors.assignor import Assignment, GroupSpec, MemberSpec


def made_group(random: Random, *, is_homogeneous: bool, has_small_ids: bool = False) -> GroupSpec:
    """Make a group with an unfair current assignment; some owned topics are no longer subscribed.

    `has_small_ids`: topic ids that Java's hash sets iterate in ascending order.
    """
    counts = {_topic_id(random, at, has_small_ids): random.choice((1, 2, 3, 5, 8, 13)) for at in range(_few(random))}
    member_ids = [f"member-{at}" for at in range(_few(random))]
    random.shuffle(member_ids)
    owned = _owned(random, counts, member_ids)
    read_by_all = _some(random, counts)
    statics = random.random()
    members = {
        member_id: MemberSpec(
            subscribed_topic_ids=read_by_all if is_homogeneous else _some(random, counts),
            target_assignment=owned[member_id],
            instance_id=f"instance-{random.randrange(100)}-{member_id}" if random.random() < statics else None,
        )
        for member_id in member_ids
    }
    return GroupSpec(members=members, partition_counts=counts)


def owners(assignments: Mapping[str, Assignment]) -> Counter[tuple[bytes, int]]:
    """Count the owners of each assigned partition."""
    return Counter((topic_id, each) for parts in assignments.values() for topic_id in parts for each in parts[topic_id])


def partitions(group: GroupSpec) -> set[tuple[bytes, int]]:
    """Return all partitions that some member subscribes to."""
    read = {topic_id for member in group.members.values() for topic_id in member.subscribed_topic_ids}
    return {(topic_id, each) for topic_id in read for each in range(group.partitions_of(topic_id))}


def load(assignment: Assignment) -> int:
    """Return the number of partitions of a member."""
    return sum(len(each) for each in assignment.values())


def kept(group: GroupSpec, assignments: Mapping[str, Assignment]) -> dict[str, int]:
    """Return how many of its partitions each member keeps, by member id."""
    return {
        member_id: sum(len(each & assignments[member_id].get(topic_id, set())) for topic_id, each in old.items())
        for member_id, old in ((member_id, member.target_assignment) for member_id, member in group.members.items())
    }


def _few(random: Random) -> int:
    return random.choice((1, 2, 3, 4, 6, 9))


def _topic_id(random: Random, at: int, has_small_ids: bool) -> bytes:
    return (at + 1).to_bytes(16, "big") if has_small_ids else random.randbytes(15) + bytes([at])


def _some(random: Random, counts: Mapping[bytes, int]) -> frozenset[bytes]:
    share = random.random()
    return frozenset(topic_id for topic_id in counts if random.random() < share)


def _owned(random: Random, counts: Mapping[bytes, int], member_ids: list[str]) -> dict[str, Assignment]:
    taken = random.choice((0.0, 0.5, 0.9, 1.0))
    # Few hands for many partitions: somebody has to give.
    hands = member_ids[: random.randint(1, len(member_ids))]
    sets: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in member_ids}
    for topic_id, count in counts.items():
        for partition in range(count):
            if random.random() < taken:
                sets[random.choice(hands)].setdefault(topic_id, set()).add(partition)
    return {
        member_id: {topic_id: frozenset(each) for topic_id, each in topics.items()}
        for member_id, topics in sets.items()
    }
