"""Garbage collections of a server's process: of new objects within steps, of old ones between steps.

Python's collector visits every object of a generation at once, so a collection of all objects is a pause in proportion
to what a node holds. Here old objects are collected by the driver, after a step, and what has survived that is frozen
once it is many: no later collection visits it. Frozen objects that became garbage in a cycle are found when what is
frozen has doubled, beyond what the node has more of by its own count. See docs/decisions/0014-garbage-between-steps.md.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final, Literal

from falkirk.node.node import Node
from falkirk.server.process import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable

Collected = Literal["old objects", "all objects"]

YOUNG_OBJECTS: Final = 1_500
"""New objects (net) after which the collector looks at them: mostly less than 1 ms."""
YOUNG_STEPS: Final = 20
"""Steps after which the driver looks at them anyway: Python counts net, so what replaces old objects adds up unseen."""
YOUNG_COLLECTIONS: Final = 3
"""Collections of new objects after which the driver collects their survivors, and all that is not frozen."""
OLD_OBJECTS_MAX: Final = 1_000
"""Old objects beyond which they are frozen; few may refer to millions, which a collection visits, too."""
FROZEN_OBJECTS_MIN: Final = 500_000
"""Growth of what is frozen, besides its doubling and the node's replicas, after which all objects are collected."""
OBJECTS_PER_REPLICA: Final = 50
"""Objects of a broker's open partition that live as long as it."""
# The collector itself looks at new objects only.
_NEVER: Final = 2**31 - 1


def settle_memory() -> None:
    """Freeze the objects of the start-up, leave old objects to the driver, and keep freed memory."""
    keep_freed_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, _NEVER, _NEVER)


def replica_objects(node: object) -> int:
    """Return about how many objects the replicas of a node are; 0 for any but a broker of KRaft."""
    broker = node.broker if isinstance(node, Node) else None
    return 0 if broker is None else OBJECTS_PER_REPLICA * len(broker.replicas.partitions.online)


class GarbageCollector:
    """Collects old objects of the process when it is due; for the driver, after a step.

    `known_objects` returns how many objects the node is known to hold: their growth is no garbage.
    """

    def __init__(self, known_objects: Callable[[], int]) -> None:
        self._known_objects = known_objects
        # At the last collection of all objects.
        self._known = known_objects()
        # After the last collection of all objects, and as many as there may be now at most.
        self._needed = self._frozen = gc.get_freeze_count()
        self._steps = 0

    def count_step(self) -> None:
        """Count a step that has ended; collect new objects if it is time."""
        self._steps += 1
        if self._steps == YOUNG_STEPS:
            self._steps = 0
            gc.collect(0)

    @property
    def is_due(self) -> bool:
        """Return whether a collection is due."""
        return gc.get_count()[1] >= YOUNG_COLLECTIONS

    def collect(self) -> Collected:
        """Collect old objects, or all of them if what is frozen has doubled; return which."""
        gc.collect()
        survivors = len(gc.get_objects())
        if survivors <= OLD_OBJECTS_MAX:
            return "old objects"
        gc.freeze()
        self._frozen += survivors
        grown = max(0, self._known_objects() - self._known)
        limit = 2 * self._needed + FROZEN_OBJECTS_MIN + grown
        if self._frozen > limit:
            # To count them takes time; some are gone since.
            self._frozen = gc.get_freeze_count()
        if self._frozen <= limit:
            return "old objects"
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._known = self._known_objects()
        self._needed = self._frozen = gc.get_freeze_count()
        return "all objects"
