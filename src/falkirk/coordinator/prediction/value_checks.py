"""Checks of a value that do not depend on the state of its group: repeated keys and invalid numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.record_type import GroupType, Part

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.records.loader_rules import LoaderRules
    from falkirk.protocol.lax_reader import Fields


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
        (
            "subtopology",
            (
                "active_tasks",
                "standby_tasks",
                "warmup_tasks",
                "active_tasks_pending_revocation",
                "standby_tasks_pending_revocation",
                "warmup_tasks_pending_revocation",
            ),
            "subtopology_id",
        ),
    ),
    Part.STATE_PARTITIONS: (("topic", ("initializing_topics", "initialized_topics"), "topic_id"),),
    Part.TOPOLOGY: (("subtopology", ("subtopologies",), "subtopology_id"),),
}
# Of a streams group; the epochs of the other tasks are of no interest.
_WITH_EPOCHS: Final = ("active_tasks", "active_tasks_pending_revocation")
_ZERO_UUID = bytes(16)


def check_value(group_type: GroupType, part: Part, value: Fields, rules: LoaderRules) -> None:
    """Raise ReplayError for a value that this coordinator cannot convert to its own objects."""
    match part:
        case Part.CURRENT_ASSIGNMENT:
            _check_current_assignment(group_type, value, rules)
        case Part.SUBSCRIPTION if rules.checks_partition_metadata:
            for topic in value["topics"]:
                _check_topic(topic)
        case Part.MEMBER:
            _check_unique(part, value)
            for assignor in value.get("assignors", ()):
                _check_assignor(assignor)
        case Part.TARGET_EPOCH if rules.checks_target_epoch:
            _check_target_epoch(value["assignment_epoch"], value.get("assignment_timestamp", 0))
        case Part.TOPOLOGY if value["epoch"] < 0:
            raise ReplayError(f"the topology's epoch is {value['epoch']}")
        case _:
            _check_unique(part, value)


def _check_current_assignment(group_type: GroupType, value: Fields, rules: LoaderRules) -> None:
    refuses_repeated = {
        GroupType.CONSUMER: rules.refuses_repeated_topics,
        GroupType.STREAMS: rules.refuses_repeated_subtopologies,
    }
    if refuses_repeated.get(group_type, True):
        _check_unique(Part.CURRENT_ASSIGNMENT, value)
    if rules.checks_assignment_epochs:
        for name in _WITH_EPOCHS:
            _check_assignment_epochs(value.get(name, ()))


def _check_unique(part: Part, value: Fields) -> None:
    for what, lists, attribute in _UNIQUE.get(part, ()):
        for name in lists:
            _once(what, value.get(name) or (), attribute)


def _once(what: str, structs: Iterable[Fields], attribute: str) -> None:
    seen: set[Any] = set()  # Any: strings or topic ids
    for struct in structs:
        if struct[attribute] in seen:
            raise ReplayError(f"{what} {_shown(struct[attribute])} is twice in it")
        seen.add(struct[attribute])


def _shown(value: str | bytes) -> str:
    return value.hex() if isinstance(value, bytes) else value


def _check_assignment_epochs(tasks: Iterable[Fields]) -> None:
    for task in tasks:
        partitions, epochs = len(task["partitions"]), len(task.get("assignment_epochs") or ())
        if epochs not in (0, partitions):
            raise ReplayError(f"subtopology {task['subtopology_id']} has {partitions} partitions, but {epochs} epochs")


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
