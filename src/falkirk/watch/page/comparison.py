"""What differs between two moments of one cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from falkirk.watch.page.board import cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.watch.core.findings import Findings, FoundLoss, NodeState


class Change(NamedTuple):
    """Something that was `before` and is `after`; None: it was not there."""

    what: str
    before: str | None
    after: str | None


class Comparison(NamedTuple):
    """Two moments; `is_partial` if either has more losses or groups than are kept one by one."""

    before_ms: int
    after_ms: int
    changes: tuple[Change, ...]
    appeared: tuple[FoundLoss, ...]
    gone: tuple[FoundLoss, ...]
    is_partial: bool


def compare(before: Findings, after: Findings) -> Comparison:
    """Return what differs."""
    old, new = ({(loss.kind, loss.key): loss for loss in found.losses} for found in (before, after))
    return Comparison(
        before_ms=before.at_ms,
        after_ms=after.at_ms,
        changes=tuple(_changes(before, after)),
        appeared=tuple(loss for key, loss in new.items() if key not in old),
        gone=tuple(loss for key, loss in old.items() if key not in new),
        is_partial=any(_is_partial(found) for found in (before, after)),
    )


def _is_partial(found: Findings) -> bool:
    return found.loss_count > len(found.losses) or found.group_count > len(found.groups)


def _changes(before: Findings, after: Findings) -> Iterator[Change]:
    yield from _differing("cluster id", {"": before.cluster_id}, {"": after.cluster_id})
    yield from _differing("way to", _ways(before), _ways(after))
    yield from _differing("feature", _features(before), _features(after))
    yield from _differing("group", _groups(before), _groups(after))
    yield from _differing("node", _nodes(before), _nodes(after))
    yield from _differing("count of", _counts(before), _counts(after))


def _differing(what: str, before: Mapping[str, str | None], after: Mapping[str, str | None]) -> Iterator[Change]:
    for name in _either(before, after):
        if before.get(name) != after.get(name):
            yield Change(f"{what} {name}".strip(), before.get(name), after.get(name))


def _either(before: Iterable[str], after: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*before, *after]))


def _ways(found: Findings) -> dict[str, str | None]:
    return {way.release: cell(way).label for way in found.ways}


def _features(found: Findings) -> dict[str, str | None]:
    return {each.feature: each.name or str(each.finalized) for each in found.features}


def _groups(found: Findings) -> dict[str, str | None]:
    return {group.group: f"{group.type}, {group.members} members" for group in found.groups}


def _nodes(found: Findings) -> dict[str, str | None]:
    return {str(node.node_id): _node(node) for node in found.nodes}


def _node(node: NodeState) -> str:
    said = {None: "not asked yet", True: "answers", False: "does not answer"}[node.answers]
    return f"{said}, fenced" if node.is_fenced else said


def _counts(found: Findings) -> dict[str, str | None]:
    counts = {**found.counts, "open transactions": found.transaction_count}
    return {name: str(number) for name, number in counts.items()}
