"""What an operator of a run does: random plans of mixed releases, within what an operator may do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.protocol.chance import Chance

ROLLING_RELEASES: Final = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""Oldest first; below 3.9 there are no dynamic voters."""
_PAUSE_MS_MAX: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Run nodes, one after the other, as a release. `kills`: without asking them to stop first."""

    node_ids: tuple[int, ...]
    release: Release
    kills: bool = False

    def __str__(self) -> str:
        """Say it as in the timeline."""
        nodes = ", ".join(map(str, self.node_ids))
        return f"{'kills and restarts' if self.kills else 'restarts'} {nodes} as {self.release.word}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLevel:
    """Raise or lower metadata.version, a lower one after a dry run, safely if that loses nothing.

    `release`: other features go to what it supports in the same update; None: they stay, but for those that are
    `switched_off`. `patience_ms`: how long the operator asks again when he is refused before he gives the whole plan
    up; None: for ever.
    """

    to: MetadataVersion
    release: Release | None = None
    patience_ms: int | None = None
    switched_off: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say it as in the timeline."""
        return " without ".join((f"finalizes {self.to}", *self.switched_off))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFeature:
    """Raise or lower another feature, safely if that loses nothing."""

    name: str
    to: int

    def __str__(self) -> str:
        """Say it as in the timeline."""
        return f"finalizes {self.name} {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTooEarly:
    """Run a node as a release that cannot run what is finalized, then as it ran before.

    `keeps_bootstrap`: leave bootstrap.checkpoint alone, which may already be too new.
    """

    node_id: int
    release: Release
    keeps_bootstrap: bool = False

    def __str__(self) -> str:
        """Say it as in the timeline."""
        return f"starts {self.node_id} as {self.release.word} too early"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTooEarly:
    """Ask for a level that not all nodes support: it has to be refused."""

    to: MetadataVersion

    def __str__(self) -> str:
        """Say it as in the timeline."""
        return f"asks for {self.to} too early"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Let others work."""

    for_ms: int

    def __str__(self) -> str:
        """Say it as in the timeline."""
        return f"waits for {self.for_ms} ms"


Step = Restart | SetLevel | SetFeature | StartTooEarly | AskTooEarly | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class RollPlan:
    """Steps in their order. `has_ghost`: a broker of the oldest release is registered, and gone before they begin.

    `unlowerable`: nodes that do not show that they can lower the level, as those of Kafka: all brokers alone.
    """

    steps: tuple[Step, ...]
    has_ghost: bool = False
    unlowerable: frozenset[int] = frozenset()

    @classmethod
    def of(
        cls,
        chance: Chance,
        releases: Mapping[int, Release],
        level: MetadataVersion,
        *,
        brokers: Sequence[int],
        has_dynamic_voters: bool,
        move_count: int,
    ) -> RollPlan:
        """Choose so many moves, each a few steps. `releases`: what each node begins as; `level`: what is finalized.

        `brokers`: those of the nodes that are brokers alone.
        """
        planner = _Planner(chance, releases, level, has_dynamic_voters=has_dynamic_voters)
        steps = [step for _ in range(move_count) for step in planner.move()]
        has_ghost = chance.random() < 0.2
        unlowerable = frozenset(each for each in brokers if chance.random() < 0.2)
        return cls(steps=tuple(steps), has_ghost=has_ghost, unlowerable=unlowerable)

    def with_elr(self, chance: Chance, releases: Mapping[int, Release], level: MetadataVersion) -> RollPlan:
        """Switch eligible leader replicas on and off in between, wherever nodes and level allow it (KIP-966).

        `releases`, `level`: as in `of`. They go at the latest with the level that has them, or in an update before.
        """
        return replace(self, steps=tuple(_with_elr(self.steps, chance, dict(releases), level)))

    def __str__(self) -> str:
        """List the steps."""
        unlowerable = [f"{node_id} cannot lower" for node_id in sorted(self.unlowerable)]
        return "; ".join([*(["ghost 19"] if self.has_ghost else []), *unlowerable, *map(str, self.steps)])


def runs_level(release: Release, level: MetadataVersion) -> bool:
    """Say whether a release supports a metadata.version."""
    return not release.unsupported_features({"metadata.version": level.level})


def _with_elr(
    steps: Sequence[Step], chance: Chance, releases: dict[int, Release], level: MetadataVersion
) -> Iterator[Step]:
    is_on = False
    for step in (None, *steps):
        if isinstance(step, Restart):
            releases.update(dict.fromkeys(step.node_ids, step.release))
        elif isinstance(step, SetLevel):
            level = step.to
            if is_on and not level.elr_supported:
                is_on = False
                if chance.random() < 0.5:
                    yield replace(step, switched_off=(ELIGIBLE_LEADER_REPLICAS_VERSION,))
                    continue
                yield SetFeature(name=ELIGIBLE_LEADER_REPLICAS_VERSION, to=0)
        if step is not None:
            yield step
        can_be_on = level.elr_supported and all(
            ELIGIBLE_LEADER_REPLICAS_VERSION in release.supported_features() for release in releases.values()
        )
        if can_be_on and chance.random() < (0.15 if is_on else 0.5):
            is_on = not is_on
            yield SetFeature(name=ELIGIBLE_LEADER_REPLICAS_VERSION, to=int(is_on))


class _Planner:
    """Knows what the nodes run as and what is finalized once the steps so far are done."""

    def __init__(
        self, chance: Chance, releases: Mapping[int, Release], level: MetadataVersion, *, has_dynamic_voters: bool
    ) -> None:
        self._chance = chance
        self._now = dict(releases)
        self._level = level
        first = ROLLING_RELEASES.index("3.9") if has_dynamic_voters else 0
        self._known = [Release.parse(word) for word in ROLLING_RELEASES[first:]]

    def move(self) -> Iterator[Step]:
        """Give the steps of one move."""
        lower = [version for version in _levels() if version < self._level and self._has_release(version)]
        draw = self._chance.random()
        if draw < 0.5 and lower:
            yield from self._down(self._chance.choice(lower))
        elif draw < 0.65:
            yield from self._cancelled()
        else:
            yield from self._up()
        if self._chance.random() < 0.4:
            yield Pause(for_ms=self._chance.randrange(1, _PAUSE_MS_MAX))

    def _up(self) -> Iterator[Step]:
        """Run all nodes as a release that can run more, and finalize some of that."""
        newest = max(self._known.index(release) for release in self._now.values())
        to = self._chance.choice(self._known[newest:])
        order = self._shuffled()
        if self._chance.random() < 0.5:
            half, order = order[: len(order) // 2], order[len(order) // 2 :]
            yield from self._restart(half, to)
            if not all(runs_level(self._now[each], to.latest_metadata_version) for each in order):
                yield AskTooEarly(to=to.latest_metadata_version)
        yield from self._restart(order, to)
        higher = [each for each in _levels() if self._level < each and runs_level(to, each)]
        if higher:
            self._level = higher[-1] if self._chance.random() < 0.6 else self._chance.choice(higher)
            yield SetLevel(to=self._level)

    def _down(self, to: MetadataVersion) -> Iterator[Step]:
        """Lower the level, and run nodes as releases that could not run the one before."""
        release = self._chance.choice([each for each in self._known if runs_level(each, to)])
        if self._chance.random() < 0.4 and not runs_level(release, self._level):
            yield StartTooEarly(
                node_id=self._chance.choice(list(self._now)),
                release=release,
                keeps_bootstrap=self._chance.random() < 0.3,
            )
        self._level = to
        yield SetLevel(to=to)
        if self._chance.random() < 0.8:
            yield from self._restart(self._shuffled(), release)

    def _cancelled(self) -> Iterator[Step]:
        """Run half of the nodes as another release, then think better of it."""
        release = self._chance.choice([each for each in self._known if runs_level(each, self._level)])
        half = self._shuffled()[: (len(self._now) + 1) // 2]
        before = {node_id: self._now[node_id] for node_id in half}
        yield from self._restart(half, release)
        for node_id, earlier in before.items():
            yield from self._restart([node_id], earlier)

    def _restart(self, node_ids: Sequence[int], release: Release) -> Iterator[Step]:
        self._now.update(dict.fromkeys(node_ids, release))
        yield Restart(node_ids=tuple(node_ids), release=release, kills=self._chance.random() < 0.2)

    def _shuffled(self) -> list[int]:
        left = list(self._now)
        return [left.pop(self._chance.randrange(0, len(left))) for _ in range(len(left))]

    def _has_release(self, level: MetadataVersion) -> bool:
        """Say whether the cluster may have it: dynamic voters have no place at a level of before them."""
        return any(release.word == level.release for release in self._known)


def _levels() -> list[MetadataVersion]:
    return [version for version in METADATA_VERSIONS if version >= FLOOR and not version.unstable]
