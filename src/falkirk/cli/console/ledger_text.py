"""A ledger as lines for people: losses by kind, conversions, features, groups."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.groups import GroupVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from falkirk.ledger.findings import Blocker
    from falkirk.ledger.reported_group import ReportedGroup
    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.logdir.ledger import PlanLedger

# Losses of each kind, without --all.
SHOWN_PER_KIND: Final = 5


def listed(title: str, items: Iterable[object]) -> Iterator[str]:
    """Yield a title and its items; nothing without items."""
    items = list(items)
    if items:
        yield f"{title}:"
        yield from (f"  {item}" for item in items)


def blocker_lines(blockers: Sequence[Blocker]) -> Iterator[str]:
    """Yield what is in the way, each with the page that says what to do."""
    if blockers:
        yield "In the way:"
    for blocker in blockers:
        yield f"  {blocker}"
        yield f"    what to do: {blocker.page}"


def shortened(items: list[str], *, everything: bool) -> list[str]:
    """Return the first items, and how many there are more."""
    shown = len(items) if everything else 2 * SHOWN_PER_KIND
    more = len(items) - shown
    return items[:shown] + ([f"and {more} more (--all lists them)"] if more > 0 else [])


def target_text(found: PlanLedger) -> str:
    """Return the target as `3.9-IV0 (Kafka 3.9)`."""
    return f"{found.target.name} (Kafka {found.target.release.rpartition('.')[0]})"


def change_lines(found: PlanLedger, *, everything: bool) -> Iterator[str]:
    """Yield the conversions and the dropped features."""
    yield from listed("Converted", shortened([each.text for each in found.conversions], everything=everything))
    yield from listed("Dropped features", found.features.reasons)


def loss_lines(title: str, losses: Sequence[ReportedLoss], *, everything: bool) -> Iterator[str]:
    """Yield the losses by kind: its meaning, then each object and where it was written."""
    if not losses:
        return
    yield f"{title}: {len(losses)}"
    for kind, group in groupby(sorted(losses, key=_kind), key=_kind):
        items = list(group)
        meaning = items[0].meaning
        yield f"  {kind.replace('_', ' ')} ({len(items)}): {meaning}"
        shown = items if everything else items[:SHOWN_PER_KIND]
        width = max(len(loss.key) for loss in shown)
        for loss in shown:
            where = "" if loss.offset is None else f" at offset {loss.offset}"
            yield f"    {loss.key:{width}}  {loss.record}{where}"
            if loss.meaning != meaning:
                yield f"      {loss.meaning}"
        if len(shown) < len(items):
            yield f"    and {len(items) - len(shown)} more (--all lists them)"


def _kind(loss: ReportedLoss) -> str:
    return loss.kind


def group_lines(title: str, groups: Iterable[ReportedGroup]) -> Iterator[str]:
    """Yield the groups that a release does not read as they are."""
    changed = [group for group in groups if group.verdict != GroupVerdict.READABLE]
    yield from listed(title, [f"{group.group} ({group.type}): {group.detail}" for group in changed])
