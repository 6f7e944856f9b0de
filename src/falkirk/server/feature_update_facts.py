"""What the active controller told of updates of features: what the last lowering lost, what stood in the way of one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

LOSS: Final = "feature-update-loss"
BLOCKED: Final = "feature-update-blocked"
"""One fact for each. Fields: `kind` (loss) or `feature` (blocked), and `count` where it stands for more than one."""


class FeatureUpdateFacts:
    """Counts them. All facts of an update come in one step of the node; those of the last update are what counts."""

    def __init__(self) -> None:
        self.losses: Counter[str] = Counter()
        self.blockers: Counter[str] = Counter()
        self._step = 0
        self._steps: dict[str, int] = {}

    def begin_step(self) -> None:
        """Take note that what comes next is of another step."""
        self._step += 1

    def take(self, fact: Fact) -> None:
        """Count a fact, if it is one of these."""
        if fact.event == LOSS:
            self._count(self.losses, fact, "kind")
        elif fact.event == BLOCKED:
            self._count(self.blockers, fact, "feature")

    def _count(self, counts: Counter[str], fact: Fact, field: str) -> None:
        if self._steps.get(fact.event) != self._step:
            self._steps[fact.event] = self._step
            counts.clear()
        count = fact.fields.get("count", 1)
        counts[str(fact.fields.get(field, UNNAMED))] += count if isinstance(count, int) else 1


UNNAMED: Final = "unknown"
