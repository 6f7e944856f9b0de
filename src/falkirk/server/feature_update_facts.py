"""The last update of features by the active controller: its losses or its blockers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.node.effects import Fact

MORE: Final = "more"
"""Losses beyond those that are listed."""
UNNAMED: Final = "unknown"


class FeatureUpdateFacts:
    """Losses by kind and blockers by feature of the last update, from facts of `node.controller.feature_updates`."""

    def __init__(self) -> None:
        self.losses: Counter[str] = Counter()
        self.blockers: Counter[str] = Counter()

    def count(self, fact: Fact) -> None:
        """Count a fact about an update; others are ignored."""
        match fact.event:
            case "features-updated":
                self.losses.clear()
                self.blockers.clear()
            case "metadata-lost" | "cut-off":
                self.losses[str(fact.fields.get("kind", UNNAMED))] += 1
            case "more-is-lost":
                count = fact.fields.get("count", 1)
                self.losses[MORE] += count if isinstance(count, int) else 1
            case "feature-update-refused":
                self.blockers = _by_feature(fact.fields.get("blockers"))
            case _:
                pass


def _by_feature(blockers: object) -> Counter[str]:
    found = blockers if isinstance(blockers, list | tuple) else ()
    return Counter(str(each.get("feature", UNNAMED)) if isinstance(each, dict) else UNNAMED for each in found)
