"""The steps of a run's operator: random rolls through mixed releases, within what an operator is allowed to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION, TRANSACTION_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from falkirk.protocol.chance import Chance

ROLLING_RELEASES: Final = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
"""The releases that nodes may run, oldest first."""
DYNAMIC_RELEASES: Final = tuple(word for word in ROLLING_RELEASES if KRAFT_VERSION in Release.parse(word).features)
"""The rolling releases that support dynamic voters."""
GHOST_ID: Final = 19
"""Id of the broker that is gone for good, in plans with `has_ghost`."""
_PAUSE_MS_MAX: Final = 1500


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """Restart nodes as a release, one after the other. `kills`: without a controlled shutdown."""

    node_ids: tuple[int, ...]
    release: Release
    kills: bool = False

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        nodes = ", ".join(map(str, self.node_ids))
        return f"{'kills and restarts' if self.kills else 'restarts'} {nodes} as {self.release.word}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLevel:
    """Raise or lower metadata.version: a lower level after a dry run, with SAFE if that loses nothing.

    `release`: the same update moves other features to what it supports; None: only those in `switched_off` move.
    `patience_ms`: how long the operator retries a refused update before abandoning the whole plan; None: forever.
    """

    to: MetadataVersion
    release: Release | None = None
    patience_ms: int | None = None
    switched_off: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        return " without ".join((f"finalizes {self.to}", *self.switched_off))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFeature:
    """Raise or lower another feature, with SAFE if that loses nothing."""

    name: str
    to: int

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        return f"finalizes {self.name} {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTooEarly:
    """Start a node as a release that does not support the finalized features, then as its own release again.

    `keeps_bootstrap`: leave bootstrap.checkpoint in place, which may already be too new.
    """

    node_id: int
    release: Release
    keeps_bootstrap: bool = False

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        return f"starts {self.node_id} as {self.release.word} too early"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskTooEarly:
    """Request a level that not all nodes support, which must be refused."""

    to: MetadataVersion

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        return f"asks for {self.to} too early"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """Wait while the workload runs."""

    for_ms: int

    def __str__(self) -> str:
        """Return the step's line in the timeline."""
        return f"waits for {self.for_ms} ms"


Step = Restart | SetLevel | SetFeature | StartTooEarly | AskTooEarly | Pause


@dataclass(frozen=True, slots=True, kw_only=True)
class RollPlan:
    """Steps in order. `has_ghost`: a broker of the oldest release is registered, and gone before the first step.

    `unlowerable`: nodes that do not register the ability to lower the level, as Kafka's own.
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
        """Choose a plan of `move_count` moves, each of a few steps.

        `releases`: each node's first release; `level`: the finalized one; `brokers`: the nodes that are pure brokers.
        """
        planner = _Planner(chance, releases, level, has_dynamic_voters=has_dynamic_voters)
        steps = [step for _ in range(move_count) for step in planner.move()]
        has_ghost = chance.random() < 0.2
        unlowerable = frozenset(each for each in brokers if chance.random() < 0.2)
        return cls(steps=tuple(steps), has_ghost=has_ghost, unlowerable=unlowerable)

    def with_elr(self, chance: Chance, releases: Mapping[int, Release], level: MetadataVersion) -> RollPlan:
        """Switch eligible leader replicas on and off between the steps, where nodes and level allow it (KIP-966).

        `releases`, `level`: as in `of`. They are switched off with the update that lowers below their level, or before.
        """
        return replace(self, steps=tuple(_with_elr(self.steps, chance, dict(releases), level)))

    def with_transaction_levels(
        self, chance: Chance, releases: Mapping[int, Release], level: MetadataVersion
    ) -> RollPlan:
        """Move transaction.version from 0 up and down between the steps, where all nodes support it.

        `releases`, `level`: as in `of`. It is lowered before a node is restarted as a release that does not support it,
        and before metadata.version falls to that of such a release.
        """
        return replace(self, steps=tuple(_with_transaction_levels(self.steps, chance, dict(releases), level)))

    def __str__(self) -> str:
        """Return the steps as one line."""
        unlowerable = [f"{node_id} cannot lower" for node_id in sorted(self.unlowerable)]
        return "; ".join([*(["ghost 19"] if self.has_ghost else []), *unlowerable, *map(str, self.steps)])


def runs_level(release: Release, level: MetadataVersion) -> bool:
    """Return whether a release supports a metadata.version."""
    return not release.unsupported_features({"metadata.version": level.level})


def highest_transaction_version(releases: Iterable[Release]) -> int:
    """Return the highest transaction.version that all of some releases support."""
    ranges = [release.supported_features().get(TRANSACTION_VERSION) for release in releases]
    return min((0 if each is None else each.highest for each in ranges), default=0)


def _with_transaction_levels(
    steps: Sequence[Step], chance: Chance, releases: dict[int, Release], at: MetadataVersion
) -> Iterator[Step]:
    level = 0
    for step in (None, *steps):
        if isinstance(step, Restart):
            releases.update(dict.fromkeys(step.node_ids, step.release))
        highest = kept = highest_transaction_version(releases.values())
        if isinstance(step, SetLevel):
            if step.to < at:
                kept = min(kept, highest_transaction_version([Release.parse(step.to.release)]))
            at = step.to
        if level > kept:
            level = kept
            yield SetFeature(name=TRANSACTION_VERSION, to=level)
        if step is not None:
            yield step
        others = [each for each in range(highest + 1) if each != level]
        if others and chance.random() < 0.6:
            level = chance.choice(others)
            yield SetFeature(name=TRANSACTION_VERSION, to=level)


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
    """Tracks the release of each node and the finalized level after the steps chosen so far."""

    def __init__(
        self, chance: Chance, releases: Mapping[int, Release], level: MetadataVersion, *, has_dynamic_voters: bool
    ) -> None:
        self._chance = chance
        self._now = dict(releases)
        self._level = level
        words = DYNAMIC_RELEASES if has_dynamic_voters else ROLLING_RELEASES
        self._known = [Release.parse(word) for word in words]

    def move(self) -> Iterator[Step]:
        """Yield the steps of one move."""
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
        """Restart all nodes as a newer release, and finalize a level that it adds."""
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
        """Lower the level, and restart nodes as releases that do not support the old one."""
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
        """Restart half of the nodes as another release, then roll them back."""
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
        """Return whether the cluster can have the level: dynamic voters need one that supports them."""
        return any(release.word == level.release for release in self._known)


def _levels() -> list[MetadataVersion]:
    return [version for version in METADATA_VERSIONS if version >= FLOOR and not version.unstable]
