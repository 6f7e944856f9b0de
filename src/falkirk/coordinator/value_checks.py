"""What replaying a value throws on, whatever state its group is in: repeated keys and numbers that make no sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.coordinator.record_type import GroupType, Part
from falkirk.coordinator.replay_error import ReplayError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.kafka_reader import Fields
    from falkirk.coordinator.loader_rules import LoaderRules


def check_value(group_type: GroupType, part: Part, value: Fields, rules: LoaderRules) -> None:
    """Raise ReplayError for a value that this coordinator cannot turn into its own objects."""
    for what, lists, attribute in _UNIQUE.get(part, ()):
        if part is Part.CURRENT_ASSIGNMENT and not (group_type is GroupType.SHARE or rules.refuses_repeated_topics):
            continue
        for name in lists:
            _once(what, value.get(name) or (), attribute)
    if part is Part.SUBSCRIPTION and rules.checks_partition_metadata:
        for topic in value["topics"]:
            _check_topic(topic)
    elif part is Part.MEMBER:
        for assignor in value.get("assignors", ()):
            _check_assignor(assignor)
    elif part is Part.TARGET_EPOCH and rules.checks_target_epoch:
        _check_target_epoch(value["assignment_epoch"], value.get("assignment_timestamp", 0))
    elif part is Part.TOPOLOGY and value["epoch"] < 0:
        raise ReplayError(f"the topology's epoch is {value['epoch']}")


# Lists that become maps: what stands in them, in which fields of the value, and what may stand there once only.
_UNIQUE: Final[dict[Part, tuple[tuple[str, tuple[str, ...], str], ...]]] = {
    Part.GROUP: (("config", ("last_assignment_configs",), "key"),),
    Part.MEMBER: (("client tag", ("client_tags",), "key"),),
    Part.TARGET_MEMBER: (
        ("topic", ("topic_partitions",), "topic_id"),
        ("subtopology", ("active_tasks", "standby_tasks", "warmup_tasks"), "subtopology_id"),
    ),
    Part.CURRENT_ASSIGNMENT: (
        (
            "topic",
            ("assigned_partitions", "partitions_pending_revocation", "partitions_pending_assignment"),
            "topic_id",
        ),
    ),
    Part.STATE_PARTITIONS: (("topic", ("initializing_topics", "initialized_topics"), "topic_id"),),
    Part.TOPOLOGY: (("subtopology", ("subtopologies",), "subtopology_id"),),
}
_ZERO_UUID = bytes(16)


def _once(what: str, structs: Iterable[Fields], attribute: str) -> None:
    seen: set[Any] = set()  # Any: strings or topic ids
    for struct in structs:
        if struct[attribute] in seen:
            raise ReplayError(f"{what} {_shown(struct[attribute])} stands twice")
        seen.add(struct[attribute])


def _shown(value: str | bytes) -> str:
    return value.hex() if isinstance(value, bytes) else value


def _check_topic(topic: Fields) -> None:
    if topic["topic_id"] == _ZERO_UUID or not topic["topic_name"] or topic["num_partitions"] < 0:
        raise ReplayError(
            f"topic '{topic['topic_name']}' has id {topic['topic_id'].hex()} and {topic['num_partitions']} partitions"
        )


def _check_assignor(assignor: Fields) -> None:
    lowest, highest = assignor["minimum_version"], assignor["maximum_version"]
    if not assignor["name"] or lowest < -1 or highest < 0 or highest < lowest:
        raise ReplayError(f"assignor '{assignor['name']}' has versions {lowest} to {highest}")


def _check_target_epoch(epoch: int, timestamp: int) -> None:
    if epoch < -1 or timestamp < 0:
        raise ReplayError(f"the target assignment has epoch {epoch} and timestamp {timestamp}")
