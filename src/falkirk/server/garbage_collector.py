"""Garbage collections of a server's process: of new objects within steps, of old ones between steps.

Python's collector visits every object of a generation at once, and all that these refer to, so a collection of all
objects is a pause in proportion to what a node holds. Here old objects are collected by the driver, after a step, and
what has survived that is frozen once a collection of it would visit much: no later collection visits it. Frozen objects
that became garbage in a cycle are found once they may be many: as many objects have survived since, the process has as
many blocks of memory more, and the node has not more of its own count by as much. See
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

Collected = Literal["old objects", "all objects"]

YOUNG_OBJECTS: Final = 1_500
"""New objects (net) after which the collector looks at them: mostly less than 1 ms."""
YOUNG_STEPS: Final = 20
"""Steps after which the driver looks at them anyway: Python counts net, so what replaces old objects adds up unseen."""
YOUNG_COLLECTIONS: Final = 3
"""Collections of new objects after which the driver collects their survivors, and all that is not frozen."""
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
        # Frozen objects that the last collection of all objects has not found to be garbage, since the start.
        self._needed = 0
        # Objects frozen since then, of which many may be gone; and how many may be before that is looked into.
        self._frozen = 0
        self._frozen_max = FROZEN_OBJECTS_MIN
        # When they were none.
        self._blocks = sys.getallocatedblocks()
        self._held_before = held()
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
        """Collect old objects, or all of them if many frozen ones may be garbage; return which."""
        visits = _visits(gc.get_objects())
        if visits <= COLLECTED_VISITS_MAX:
            gc.collect()
        if visits <= OLD_VISITS_MAX:
            return "old objects"
        self._frozen += len(gc.get_objects())
        gc.freeze()
        if self._frozen <= self._frozen_max:
            return "old objects"
        held = self._held()
        # Nobody counts what is frozen: that visits each. It is no more than has survived, nor than there are blocks.
        known_blocks = max(0, held.blocks - self._held_before.blocks)
        known_objects = max(0, held.objects - self._held_before.objects)
        blocks = sys.getallocatedblocks() - self._blocks - known_blocks
        self._frozen = min(self._frozen, known_objects + max(0, blocks))
        self._frozen_max = known_objects + self._needed + FROZEN_OBJECTS_MIN
        if self._frozen <= self._frozen_max:
            return "old objects"
        gc.unfreeze()
        self._needed = max(0, self._needed + self._frozen - known_objects - gc.collect())
        gc.freeze()
        self._frozen, self._frozen_max = 0, self._needed + FROZEN_OBJECTS_MIN
        self._blocks, self._held_before = sys.getallocatedblocks(), held
        return "all objects"


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
