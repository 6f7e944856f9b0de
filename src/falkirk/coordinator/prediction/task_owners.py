"""Which process runs which task: what streams groups of 4.1 check when a member or its assignment changes."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.replay_error import ReplayError

if TYPE_CHECKING:
    from falkirk.coordinator.prediction.kafka_reader import Fields


class TaskKind(enum.Enum):
    """An active task has one process, the others may have any number of them."""

    ACTIVE = enum.auto()
    STANDBY = enum.auto()
    WARMUP = enum.auto()


Subtopology = tuple[TaskKind, str]


@dataclass(frozen=True, slots=True)
class RunningTasks:
    """What one member runs, and where: no process is known before its metadata was read."""

    process_id: str | None = None
    tasks: tuple[tuple[Subtopology, frozenset[int]], ...] = ()
    """Tasks assigned, then those to be revoked; a subtopology may stand in both, and even without a partition."""


NO_TASKS: Final = RunningTasks()


class TaskOwners:
    """The tasks of one streams group that have an owner; a subtopology may be there without any."""

    def __init__(self) -> None:
        self._processes: dict[Subtopology, dict[int, frozenset[str]]] = {}

    def move(self, before: RunningTasks | None, after: RunningTasks | None) -> None:
        """Exchange what a member ran for what it runs. Raises ReplayError, and is then as it was.

        Tasks that came before the member's process are not kept, but are missed when they are to be given back.
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
    """Give what a StreamsGroupCurrentMemberAssignment value assigns; its tombstone assigns nothing."""
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
_NOBODY: Final[frozenset[str]] = frozenset()


def _without(
    subtopology: Subtopology,
    processes: dict[int, frozenset[str]] | None,
    partitions: frozenset[int],
    process_id: str | None,
) -> dict[int, frozenset[str]] | None:
    if processes is None:
        raise ReplayError(f"a member gives back tasks of subtopology {subtopology[1]}, of which nobody runs any")
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
