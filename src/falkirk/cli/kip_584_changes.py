"""What came of updates of features, in KIP-584's own table.

    [Add] Feature: f       ExistingFinalizedMaxVersion: -  NewFinalizedMaxVersion: 1       Result: OK

The spacing is that of the KIP's samples. Marks end in the column where the longest of them ends. Behind the name stand
seven spaces where a feature is added or deleted, else six; two behind the existing level, seven behind the new one.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure


class Change(Enum):
    """What an update would do to a feature, by the KIP's mark."""

    ADD = "Add"
    UPGRADE = "Upgrade"
    DOWNGRADE = "Downgrade"
    DELETE = "Delete"

    @classmethod
    def of(cls, update: FeatureUpdate, before: int) -> Change:
        """Give what is asked for where a feature has this finalized max level; 0: it has none."""
        if update.upgrade_type is UpgradeType.UPGRADE:
            return cls.UPGRADE if before else cls.ADD
        return cls.DOWNGRADE if update.max_version_level else cls.DELETE


def change_lines(
    updates: Mapping[str, FeatureUpdate],
    before: Mapping[str, int],
    outcomes: Mapping[str, FeatureUpdateFailure | None],
) -> Iterator[str]:
    """Give a line for each update, in order. `before`: finalized max levels; `outcomes`: None where it is done."""
    changes = {name: Change.of(update, before.get(name, 0)) for name, update in updates.items()}
    width = max((len(change.value) + 2 for change in changes.values()), default=0)
    for name, update in updates.items():
        mark = f"[{changes[name].value}]"
        space = " " * (7 if changes[name] in (Change.ADD, Change.DELETE) else 6)
        failure = outcomes[name]
        yield (
            f"{mark:>{width}} Feature: {name}{space}ExistingFinalizedMaxVersion: {before.get(name) or '-'}  "
            f"NewFinalizedMaxVersion: {update.max_version_level or '-'}       "
            f"Result: {'OK' if failure is None else failure.message}"
        )
