"""Owners of tasks, against which streams groups of 4.1 check changes of a member or its assignment."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.replay_error import ReplayError

if TYPE_CHECKING:
    from falkirk.protocol.lax_reader import Fields


_NOBODY: Final[frozenset[str]] = frozenset()


class TaskKind(enum.Enum):
    """An active task has one process; the other kinds may have any number."""

    ACTIVE = enum.auto()
    STANDBY = enum.auto()
    WARMUP = enum.auto()


Subtopology = tuple[TaskKind, str]


@dataclass(frozen=True, slots=True)
class RunningTasks:
    """The tasks of one member and its process, which is unknown before its metadata was read."""

    process_id: str | None = None
    tasks: tuple[tuple[Subtopology, frozenset[int]], ...] = ()
    """Assigned tasks, then those to revoke; a subtopology may be in both, even without a partition."""


NO_TASKS: Final = RunningTasks()


class TaskOwners:
    """The owned tasks of one streams group; a subtopology may be present without any."""

    def __init__(self) -> None:
        self._processes: dict[Subtopology, dict[int, frozenset[str]]] = {}

    def move(self, before: RunningTasks | None, after: RunningTasks | None) -> None:
        """Replace what a member runs. Raises ReplayError without having changed anything.

        Tasks that were assigned before the member's process was known are not kept, but missed when they are revoked.
        """
        touched: dict[Subtopology, dict[int, frozenset[str]] | None] = {}
        if before is not None:
            for subtopology, partitions in before.tasks:
                touched[subtopology] = _without(
                    subtopology, self._current(touched, subtopology), partitions, before.process_id
                )
        if after is not None and after.process_id is not None:
            for subtopology, partitions in after.tasks:
                touched[subtopology] = _with(
                    subtopology, self._current(touched, subtopology), partitions, after.process_id
                )
        for subtopology, processes in touched.items():
            if processes is None:
                self._processes.pop(subtopology, None)
            else:
                self._processes[subtopology] = processes

    def _current(
        self, touched: dict[Subtopology, dict[int, frozenset[str]] | None], subtopology: Subtopology
    ) -> dict[int, frozenset[str]] | None:
        if subtopology in touched:
            return touched[subtopology]
        processes = self._processes.get(subtopology)
        return None if processes is None else dict(processes)


def running_tasks(process_id: str | None, value: Fields | None) -> RunningTasks:
    """Return the tasks in a StreamsGroupCurrentMemberAssignment value; its tombstone has none."""
    if value is None:
        return RunningTasks(process_id)
    return RunningTasks(
        process_id,
        tuple(
            ((kind, task["subtopology_id"]), frozenset(task["partitions"]))
            for attribute, kind in _TASKS
            for task in value[attribute]
        ),
    )


_TASKS: Final = (
    ("active_tasks", TaskKind.ACTIVE),
    ("standby_tasks", TaskKind.STANDBY),
    ("warmup_tasks", TaskKind.WARMUP),
    ("active_tasks_pending_revocation", TaskKind.ACTIVE),
    ("standby_tasks_pending_revocation", TaskKind.STANDBY),
    ("warmup_tasks_pending_revocation", TaskKind.WARMUP),
)


def _without(
    subtopology: Subtopology,
    processes: dict[int, frozenset[str]] | None,
    partitions: frozenset[int],
    process_id: str | None,
) -> dict[int, frozenset[str]] | None:
    if processes is None:
        raise ReplayError(f"a member gives back tasks of subtopology {subtopology[1]}, of which no member runs a task")
    own = _NOBODY if process_id is None else frozenset({process_id})
    for partition in partitions:
        if subtopology[0] is TaskKind.ACTIVE:
            is_own = processes.pop(partition, _NOBODY) == own
        else:
            # An entry stays, even if it is that of nobody.
            is_own = bool(own & processes.get(partition, _NOBODY))
            processes[partition] = processes.get(partition, _NOBODY) - own
        if not is_own:
            raise ReplayError(f"a member gives back task {subtopology[1]}_{partition}, which its process does not run")
    return processes or None


def _with(
    subtopology: Subtopology, processes: dict[int, frozenset[str]] | None, partitions: frozenset[int], process_id: str
) -> dict[int, frozenset[str]]:
    processes = {} if processes is None else processes
    for partition in partitions:
        others = processes.get(partition, _NOBODY)
        if others and subtopology[0] is TaskKind.ACTIVE:
            raise ReplayError(f"a member takes task {subtopology[1]}_{partition}, which another process still runs")
        processes[partition] = others | {process_id}
    return processes
