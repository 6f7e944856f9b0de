"""Garbage collections of a server's process: of new objects within steps, of old ones between steps.

Python's collector visits every object of a generation at once, and all that these refer to, so a collection of all
objects is a pause in proportion to what a node holds. Here old objects are collected by the driver, after a step, and
what has survived that is frozen once a collection of it would visit much: no later collection visits it. Frozen objects
that became garbage in a cycle are found once they may be many: as many objects have survived since, the process has as
many blocks of memory more, the node has not more of its own count by as much, and a count of them says so. See
docs/decisions/0014-garbage-between-steps.md.
"""

from __future__ import annotations

import gc
import sys
from collections import defaultdict, deque
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from falkirk.node.node import Node
from falkirk.server.process import keep_freed_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Collected = Literal["survivors", "old objects", "all objects"]

YOUNG_OBJECTS: Final = 1_500
"""New objects (net) after which the collector looks at them: mostly less than 1 ms."""
YOUNG_STEPS: Final = 20
"""Steps after which the driver looks at them anyway: Python counts net, so what replaces old objects adds up unseen."""
YOUNG_COLLECTIONS: Final = 3
"""Collections of new objects after which the driver collects their survivors."""
SURVIVOR_COLLECTIONS: Final = 10
"""Collections of survivors after which it collects all that is not frozen, or after `YOUNG_OBJECTS` survivors."""
OLD_VISITS_MAX: Final = 10_000
"""Old objects, and what they refer to, beyond which they are frozen: to visit more takes half a ms and longer."""
COLLECTED_VISITS_MAX: Final = 200_000
"""As many beyond which they are frozen uncollected: a collection of so many takes 10 ms."""
FROZEN_OBJECTS_MIN: Final = 500_000
"""Growth of what is frozen, besides its doubling and what the node counts, after which all objects are collected."""
OBJECTS_PER_REPLICA: Final = 50
"""Objects of a broker's open partition that live as long as it."""
BLOCKS_PER_REPLICA: Final = 150
"""Its blocks of memory."""
BLOCKS_PER_PARTITION: Final = 10
"""Blocks of memory of a partition in the image."""
# The collector itself looks at new objects only.
_NEVER: Final = 2**31 - 1
# Others that are long are rare, or refer to what the collector does not visit.
_CONTAINERS: Final = frozenset({list, dict, defaultdict, tuple, set, frozenset, deque})


class Held(NamedTuple):
    """What a node is known to hold: objects that the collector visits, and blocks of memory, these among them."""

    objects: int = 0
    blocks: int = 0


def settle_memory() -> None:
    """Freeze the objects of the start-up, leave old objects to the driver, and keep freed memory."""
    keep_freed_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, _NEVER, _NEVER)


def held_by(node: object) -> Held:
    """Return about what the image and the replicas of a node are; nothing for any but a node of KRaft."""
    if not isinstance(node, Node):
        return Held()
    replicas = 0 if node.broker is None else len(node.broker.replicas.partitions.online)
    partitions = node.image.topics.partition_count
    return Held(OBJECTS_PER_REPLICA * replicas, BLOCKS_PER_REPLICA * replicas + BLOCKS_PER_PARTITION * partitions)


class GarbageCollector:
    """Collects old objects of the process when it is due; for the driver, after a step.

    `held` returns what the node is known to hold: its growth is no garbage.
    """

    def __init__(self, held: Callable[[], Held]) -> None:
        self._held = held
        # Frozen objects of the start, which stay.
        self._first = gc.get_freeze_count()
        # Further ones when they were last counted; and how many there may be before all objects are collected, besides
        # what the node has had more of since then.
        self._counted, self._counted_max = 0, FROZEN_OBJECTS_MIN
        self._held_when_collected = held()
        # Objects frozen since they were counted, of which many may be gone; blocks, and what was held, at that time.
        self._frozen = 0
        self._blocks = sys.getallocatedblocks()
        self._held_when_counted = self._held_when_collected
        self._steps = 0
        # Objects that became old since old ones were collected.
        self._survivors = 0

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
        """Collect survivors and, where it is time, old objects; return which."""
        self._survivors += len(gc.get_objects(generation=1))
        if self._survivors < YOUNG_OBJECTS and gc.get_count()[2] < SURVIVOR_COLLECTIONS:
            gc.collect(1)
            return "survivors"
        self._survivors = 0
        return self.collect_old()

    def collect_old(self) -> Collected:
        """Collect old objects, or all of them if many frozen ones may be garbage; return which."""
        visits = _visits(gc.get_objects())
        if visits <= COLLECTED_VISITS_MAX:
            gc.collect()
        if visits <= OLD_VISITS_MAX:
            return "old objects"
        self._frozen += len(gc.get_objects())
        gc.freeze()
        if self._frozen <= FROZEN_OBJECTS_MIN or not self._has_too_many_frozen():
            return "old objects"
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._count()
        # All that is needed now may be garbage next time.
        self._counted_max = 2 * self._counted + FROZEN_OBJECTS_MIN
        self._held_when_collected = self._held_when_counted
        return "all objects"

    def _has_too_many_frozen(self) -> bool:
        """Return whether so many objects are frozen that all are to be collected."""
        held = self._held()
        # To count them visits each. They are no more than have survived since, nor than there are blocks more.
        known_objects = max(0, held.objects - self._held_when_counted.objects)
        known_blocks = max(0, held.blocks - self._held_when_counted.blocks)
        blocks = sys.getallocatedblocks() - self._blocks - known_blocks
        self._frozen = min(self._frozen, known_objects + max(0, blocks))
        most = self._counted_max + max(0, held.objects - self._held_when_collected.objects)
        if self._frozen <= FROZEN_OBJECTS_MIN or self._counted + self._frozen <= most:
            return False
        self._count()
        return self._counted > most

    def _count(self) -> None:
        self._counted, self._frozen = gc.get_freeze_count() - self._first, 0
        self._blocks, self._held_when_counted = sys.getallocatedblocks(), self._held()


def _visits(objects: Iterable[Any]) -> int:
    """Return how many objects a collection of some visits, roughly."""
    # No code of an object runs: libraries leave weak proxies of what is gone, which fail even when asked for a class.
    visits = 0
    for each in objects:
        kind = type(each)
        if kind in _CONTAINERS:
            visits += len(each)
        elif issubclass(kind, tuple):
            visits += tuple.__len__(each)
        visits += 1
    return visits
