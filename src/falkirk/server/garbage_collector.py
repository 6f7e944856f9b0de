"""Garbage collections of a server's process: of new objects within steps, of old ones between steps.

Python's collector visits every object of a generation at once, so a collection of all objects is a pause in proportion
to what a node holds. Here old objects are collected by the driver, after a step, and what has survived that is frozen
once it is many: no later collection visits it. Frozen objects that became garbage in a cycle are found when what is
frozen has doubled. See docs/decisions/0014-garbage-between-steps.md.
"""

from __future__ import annotations

import gc
from typing import Final, Literal

from falkirk.server.process import keep_freed_memory

Collected = Literal["old objects", "all objects"]

YOUNG_OBJECTS: Final = 5_000
"""New objects (net) after which the collector looks at them: 1 to 2 ms."""
YOUNG_STEPS: Final = 50
"""Steps after which the driver looks at them anyway: Python counts net, so what replaces old objects adds up unseen."""
YOUNG_COLLECTIONS: Final = 3
"""Collections of new objects after which the driver collects their survivors, and all that is not frozen."""
OLD_OBJECTS_MAX: Final = 1_000
"""Old objects beyond which they are frozen; few may refer to millions, which a collection visits, too."""
FROZEN_OBJECTS_MIN: Final = 500_000
"""Growth of what is frozen, besides its doubling, after which all objects are collected."""
# The collector itself looks at new objects only.
_NEVER: Final = 2**31 - 1


def settle_memory() -> None:
    """Freeze the objects of the start-up, leave old objects to the driver, and keep freed memory."""
    keep_freed_memory()
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, _NEVER, _NEVER)


class GarbageCollector:
    """Collects old objects of the process when it is due; for the driver, after a step."""

    def __init__(self) -> None:
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
        limit = 2 * self._needed + FROZEN_OBJECTS_MIN
        if self._frozen > limit:
            # To count them takes time; some are gone since.
            self._frozen = gc.get_freeze_count()
        if self._frozen <= limit:
            return "old objects"
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        self._needed = self._frozen = gc.get_freeze_count()
        return "all objects"
