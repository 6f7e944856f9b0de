"""Nodes by the levels that they support, against the finalized one and those of older releases, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.operations.lift_findings import level_name
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.watch.core.findings import Findings, NodeState

WIDTH: Final = 1000
LABEL: Final = 90
ROW: Final = 22
TOP: Final = 20
_NODES_MAX: Final = 100


class Bar(NamedTuple):
    """A node's range; `state` is its class: whether it runs the finalized and the wanted level."""

    label: str
    y: int
    x: float
    width: float
    state: str
    title: str


class Tick(NamedTuple):
    """A level that a line stands for; `state` is its class."""

    x: float
    label: str
    state: str
    title: str


class Ranges(NamedTuple):
    """The picture; `missing` nodes are not in it."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    height: int
    missing: int


def make_ranges(found: Findings, wanted: str) -> Ranges | None:
    """Return the picture; `wanted` is the release that somebody asks for. None if no node's levels are known."""
    known = [node for node in found.nodes if METADATA_VERSION in node.supported]
    if not known:
        return None
    finalized = next((each.finalized for each in found.features if each.feature == METADATA_VERSION), None)
    levels = {way.level for way in found.ways} | ({finalized} if finalized is not None else set())
    levels |= {level for node in known for level in node.supported[METADATA_VERSION]}
    shown = known[:_NODES_MAX]
    scale = _Scale(min(level for level in levels if level > 0), max(levels))
    needed = [level for level in (finalized, _level_of(found, wanted)) if level is not None]
    return Ranges(
        bars=tuple(_bar(node, TOP + number * ROW, scale, needed) for number, node in enumerate(shown)),
        ticks=tuple(_ticks(found, wanted, finalized, scale)),
        height=TOP + len(shown) * ROW,
        missing=len(found.nodes) - len(shown),
    )


class _Scale(NamedTuple):
    lowest: int
    highest: int

    def x(self, level: int) -> float:
        """Return where a level is, within the picture."""
        share = (max(level, self.lowest) - self.lowest) / max(self.highest - self.lowest, 1)
        return round(LABEL + 10 + (WIDTH - LABEL - 60) * share, 1)


def _bar(node: NodeState, y: int, scale: _Scale, needed: list[int]) -> Bar:
    low, high = node.supported[METADATA_VERSION]
    runs_all = all(low <= level <= high for level in needed)
    begin = scale.x(low)
    return Bar(
        label=f"node {node.node_id}",
        y=y,
        x=begin,
        width=max(scale.x(high) - begin, 2.0),
        state="open" if runs_all else "closed",
        title=f"node {node.node_id} supports {level_name(low)} to {level_name(high)}",
    )


def _ticks(found: Findings, wanted: str, finalized: int | None, scale: _Scale) -> Iterator[Tick]:
    for way in found.ways:
        state = "wanted" if way.release == wanted else "release"
        yield Tick(scale.x(way.level), way.release, state, f"{way.release}: {way.name}")
    if finalized is not None:
        yield Tick(scale.x(finalized), "", "finalized", f"finalized: {level_name(finalized)}")


def _level_of(found: Findings, release: str) -> int | None:
    way = found.way(release)
    return None if way is None else way.level
