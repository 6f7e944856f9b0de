"""The options of `falkirk features update`. Source: KIP-584, advanced CLI tool usage."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from falkirk.cli.console.failure import WrongUsageError
from falkirk.client.feature_update import LEVEL_MAX
from falkirk.operations.feature_changes import RequestedChanges

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def parse_changes(
    upgrade: Sequence[str], downgrade: Sequence[str], delete: Sequence[str], *, allow_downgrade: bool
) -> RequestedChanges:
    """Parse the options of `update`, each a list of comma-separated lists. Raises WrongUsageError."""
    requested = RequestedChanges(
        upgrade=parse_levels("--upgrade", upgrade),
        downgrade=parse_levels("--downgrade", downgrade),
        delete=tuple(sorted(_words(delete))),
        allow_downgrade=allow_downgrade,
    )
    names = [*requested.upgrade, *requested.downgrade, *requested.delete]
    if not names:
        raise WrongUsageError("nothing to update: say --upgrade, --downgrade or --delete")
    _refuse_repeated(names)
    return requested


def parse_levels(option: str, texts: Iterable[str]) -> dict[str, int]:
    """Parse `a:2,b:1`, sorted by name. Raises WrongUsageError, also for a number that is no level."""
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
