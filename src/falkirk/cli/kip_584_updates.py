"""Which updates `falkirk features update` asks for. Source: KIP-584, advanced CLI tool usage."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.cli.failure import WrongUsageError
from falkirk.client.feature_update import LEVEL_MAX, FeatureUpdate
from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedChanges:
    """What is to rise and to fall, by name of the feature, and what is to go; `allow_downgrade`: rises may be falls."""

    upgrade: Mapping[str, int]
    downgrade: Mapping[str, int]
    delete: tuple[str, ...]
    allow_downgrade: bool

    def updates(self, before: Mapping[str, int]) -> dict[str, FeatureUpdate]:
        """Give the updates in that order; `before`: finalized max levels.

        Whoever allows a downgrade asks for one only where the level would fall: servers refuse it elsewhere.
        """
        updates = {
            name: FeatureUpdate(level, self._type_of_rise(level, before.get(name, 0)))
            for name, level in self.upgrade.items()
        }
        falls = {**self.downgrade, **dict.fromkeys(self.delete, 0)}
        return updates | {name: FeatureUpdate(level, UpgradeType.SAFE_DOWNGRADE) for name, level in falls.items()}

    def _type_of_rise(self, level: int, before: int) -> UpgradeType:
        return UpgradeType.SAFE_DOWNGRADE if self.allow_downgrade and level < before else UpgradeType.UPGRADE


def parse_changes(
    upgrade: Sequence[str], downgrade: Sequence[str], delete: Sequence[str], *, allow_downgrade: bool
) -> AskedChanges:
    """Read the options of `update`, each a list of lists with commas. Raises WrongUsageError."""
    asked = AskedChanges(
        upgrade=parse_levels("--upgrade", upgrade),
        downgrade=parse_levels("--downgrade", downgrade),
        delete=tuple(sorted(_words(delete))),
        allow_downgrade=allow_downgrade,
    )
    names = [*asked.upgrade, *asked.downgrade, *asked.delete]
    if not names:
        raise WrongUsageError("nothing to update: say --upgrade, --downgrade or --delete")
    _refuse_repeated(names)
    return asked


def parse_levels(option: str, texts: Iterable[str]) -> dict[str, int]:
    """Read `a:2,b:1`; the result is in order of names. Raises WrongUsageError, also for what is no level."""
    pairs: list[tuple[str, int]] = []
    for word in _words(texts):
        name, _, level = word.rpartition(":")
        if not (name and level.isascii() and level.isdecimal()):
            raise WrongUsageError(f"{option}: '{word}' is not of the form feature:level")
        if not 1 <= int(level) <= LEVEL_MAX:
            raise WrongUsageError(f"{option}: the level in '{word}' is not one of 1 to {LEVEL_MAX}")
        pairs.append((name, int(level)))
    _refuse_repeated(name for name, _ in pairs)
    return dict(sorted(pairs))


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in map(str.strip, text.split(",")) if word]


def _refuse_repeated(names: Iterable[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise WrongUsageError(f"feature {name} is named more than once")
