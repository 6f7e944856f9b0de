"""The way on which a running cluster of real Kafka could go down, chosen by its layout, with its steps.

Pure. No JVM controller may read the record that lowers metadata.version: it keeps what others drop then, and exits at
its next start. A snapshot it takes. So for a moment falkirk has to be the majority that commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Measured by the probe of `falkirk lift run`: docs/reference/lift.md.
_NONE: Final = "none"
_ELECTION: Final = "metadata writes: an election, 0.2 to 1 s; data: none"
_ONLY_CONTROLLER: Final = "metadata writes: a restart of the only controller, 5 to 15 s; data: none"
_HAND_OVER: Final = "metadata writes: 0.2 to 1.3 s; data: none"
_LOWERING: Final = "metadata writes: 0.2 to 0.5 s, up to 1.5 s on a busy machine; data: none"
_PRODUCERS_WAIT: Final = (
    "producers that restart under a transactional id used before: until the broker that coordinates it is rolled"
)
_ROLL: Final = "data: each partition for one leader change, below 5 s"
_BY_SNAPSHOT_VOTERS_MAX: Final = 4
# The places of lift.yaml.
_BESIDE: Final = "{node_id, listener, directory}"


class WayKind(StrEnum):
    """How falkirk becomes the majority for a moment; what needs fewer hands, and leaves fewer traces, comes first."""

    FEATURE_UPDATE = "feature update"
    EXTRA_VOTER = "extra voter, alone for seconds"
    IN_PLACE_MAJORITY = "in place, majority"
    DYNAMIC_FIRST = "voters made dynamic, then an extra voter"
    BY_SNAPSHOT = "in place of one, commit by snapshot"


_NEEDS: Final[Mapping[WayKind, str]] = {
    WayKind.FEATURE_UPDATE: "nothing but the command",
    WayKind.EXTRA_VOTER: "a machine that every node reaches, with a disk that lasts; no node is restarted",
    WayKind.IN_PLACE_MAJORITY: "falkirk on the machines of a majority of the controllers, which are stopped meanwhile",
    WayKind.DYNAMIC_FIRST: "what an extra voter needs, and kraft.version stays 1 (upgrade_kraft_version: true)",
    WayKind.BY_SNAPSHOT: "falkirk on the machine of one controller, which is stopped meanwhile, as a broker too",
}
_PLACES: Final[Mapping[WayKind, str]] = {
    WayKind.EXTRA_VOTER: _BESIDE,
    WayKind.DYNAMIC_FIRST: _BESIDE,
    WayKind.IN_PLACE_MAJORITY: "in-place",
    WayKind.BY_SNAPSHOT: "in-place-of-one",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumLayout:
    """What decides on the way.

    `leader_id`: None if nobody leads. `combined`: voters that are brokers too. `can_be_dynamic`: every voter supports
    kraft.version 1 and can be brought to it while it runs, which Kafka can since 4.1. `keeps_dynamic`: the target can
    have kraft.version 1. `auto_joining`: nodes with controller.quorum.auto.join.enable. `lowers_itself`: all voters
    are falkirk's.
    """

    kraft_version: int
    voters: tuple[int, ...]
    leader_id: int | None
    combined: frozenset[int]
    can_be_dynamic: bool
    keeps_dynamic: bool
    auto_joining: frozenset[int] = frozenset()
    lowers_itself: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `interruption`: what is expected to stand still meanwhile, and for how long."""

    action: str
    interruption: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedWay:
    """A way that this cluster cannot go, and why."""

    kind: WayKind
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleWay:
    """A way that this cluster can go, its steps, and what it `needs`; `place`: of `lift.yaml`, None if it has none."""

    kind: WayKind
    needs: str
    place: str | None
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WayChoice:
    """The ways that are possible, the one to prefer first, and those that are not."""

    possible: tuple[PossibleWay, ...]
    refused: tuple[RefusedWay, ...]

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of `lift check --json`."""
        none: dict[str, Any] = {"kind": None, "needs": None, "place": None, "steps": []}  # Any: same
        first, *others = msgspec.to_builtins(self.possible) or [none]
        document: dict[str, Any] = first | {"others": others, "refused": msgspec.to_builtins(self.refused)}
        return document


def choose_way(layout: QuorumLayout, *, level: str, release: str, producers_wait: bool = False) -> WayChoice:
    """Choose the ways that the layout allows.

    `level`, `release`: the metadata.version to go to, and the release that will run on it, for people.
    `producers_wait`: whether producers that restart after the lowering wait for the roll.
    """
    reasons = {kind: _reason_against(kind, layout, level) for kind in WayKind}
    lowering = f"{_LOWERING}; {_PRODUCERS_WAIT}" if producers_wait else _LOWERING
    return WayChoice(
        possible=tuple(
            PossibleWay(
                kind=kind,
                needs=_NEEDS[kind],
                place=_PLACES.get(kind),
                steps=tuple(_steps(kind, layout, level, release, lowering)),
            )
            for kind, reason in reasons.items()
            if reason is None
        ),
        refused=tuple(RefusedWay(kind=kind, reason=reason) for kind, reason in reasons.items() if reason is not None),
    )


def replaced_voters(voters: Sequence[int], leader_id: int | None, *, is_one: bool) -> tuple[int, ...]:
    """Return the controllers in whose place falkirk runs: one, or a majority.

    The leader comes last: it then gives way to the others only once.
    """
    others = [voter for voter in voters if voter != leader_id]
    leader = [voter for voter in voters if voter == leader_id]
    if is_one:
        return tuple((others or leader)[:1])
    return (*others[: len(voters) // 2 + 1 - len(leader)], *leader)


def _reason_against(kind: WayKind, layout: QuorumLayout, level: str) -> str | None:
    match kind:
        case WayKind.FEATURE_UPDATE:
            return None if layout.lowers_itself else "Kafka's controllers do not lower metadata.version"
        case WayKind.EXTRA_VOTER:
            is_static = layout.kraft_version == 0
            return "the voters are static (kraft.version 0): none can be added" if is_static else _joins_again(layout)
        case WayKind.DYNAMIC_FIRST:
            return _against_dynamic(layout, level)
        case WayKind.IN_PLACE_MAJORITY:
            names = _names(sorted(layout.combined))
            what = f"{names} would be missing as brokers, too, more than one at a time"
            return what if layout.combined else None
        case WayKind.BY_SNAPSHOT:
            return _against_snapshot(layout)


def _against_dynamic(layout: QuorumLayout, level: str) -> str | None:
    if layout.kraft_version > 0:
        return "the voters are dynamic already"
    if not layout.keeps_dynamic:
        return f"{level} has no dynamic voters (kraft.version 1), and kraft.version is not lowered live"
    if not layout.can_be_dynamic:
        return "not every voter can raise kraft.version while it runs, which Kafka can since 4.1"
    return _joins_again(layout)


def _against_snapshot(layout: QuorumLayout) -> str | None:
    voters = len(layout.voters)
    if voters == 1 and layout.combined:
        return "the only controller is a broker, too, which would be missing"
    if voters <= _BY_SNAPSHOT_VOTERS_MAX:
        return None
    return (
        f"with {voters} voters the first one that takes the snapshot blocks no election of the others, so it would not "
        f"be safe; it takes at most {_BY_SNAPSHOT_VOTERS_MAX}"
    )


def _joins_again(layout: QuorumLayout) -> str | None:
    if not layout.auto_joining:
        return None
    return (
        f"controller.quorum.auto.join.enable is on at {_names(sorted(layout.auto_joining))}: a voter that is removed "
        "adds itself again within seconds"
    )


def _voters(node_ids: Sequence[int]) -> str:
    return f"the JVM voter{'s' if len(node_ids) > 1 else ''} {', '.join(map(str, node_ids))}"


def _names(node_ids: Sequence[int]) -> str:
    return f"node{'s' if len(node_ids) > 1 else ''} {', '.join(map(str, node_ids))}"


def _steps_in_place(replaced: Sequence[int], layout: QuorumLayout, level: str, lowering: str) -> Iterator[Step]:
    for voter in replaced:
        yield Step(
            action=f"stop controller {voter}, run `falkirk serve` on its own properties and directory, and wait until "
            "it has the log",
            interruption=_restart(voter, layout, is_leader=voter == layout.leader_id),
        )
    yield Step(action="falkirk stands for election until it leads", interruption=_ELECTION)
    yield Step(
        action=f"lower the levels to {level}: falkirk leads; brokers and other controllers take the snapshot",
        interruption=lowering,
    )
    for voter in reversed(replaced):
        yield Step(
            action=f"stop falkirk on controller {voter}, and start its JVM again",
            # Which of them leads is known only then.
            interruption=_restart(voter, layout, is_leader=True),
        )


def _restart(voter: int, layout: QuorumLayout, *, is_leader: bool) -> str:
    if len(layout.voters) == 1:
        return _ONLY_CONTROLLER
    metadata = _ELECTION if is_leader else _NONE
    if voter not in layout.combined:
        return metadata
    return _ROLL if metadata == _NONE else f"{metadata.removesuffix('; data: none')}; {_ROLL}"


def _steps(kind: WayKind, layout: QuorumLayout, level: str, release: str, lowering: str) -> Iterator[Step]:
    voters = list(layout.voters)
    if kind is WayKind.FEATURE_UPDATE:
        yield Step(
            action=f"falkirk features downgrade-all --release {release}: these controllers lower the levels themselves",
            interruption=_NONE,
        )
    elif kind in (WayKind.IN_PLACE_MAJORITY, WayKind.BY_SNAPSHOT):
        replaced = replaced_voters(voters, layout.leader_id, is_one=kind is WayKind.BY_SNAPSHOT)
        yield from _steps_in_place(replaced, layout, level, lowering)
    else:
        if kind is WayKind.DYNAMIC_FIRST:
            yield Step(
                action="raise kraft.version to 1 (kafka-features upgrade --feature kraft.version=1); it cannot be "
                "lowered again while the cluster runs",
                interruption=_NONE,
            )
        yield Step(action="falkirk reads the log as an observer, without registering", interruption=_NONE)
        yield Step(action="add falkirk as a voter", interruption=_NONE)
        yield Step(
            action=f"remove {_voters(voters)}, the leader last: falkirk leads, and what is removed observes it",
            interruption=_HAND_OVER,
        )
        yield Step(
            action=f"lower the levels to {level}; brokers and controllers take the snapshot", interruption=lowering
        )
        yield Step(
            action=f"add {_voters(voters)} again by directory id, and wait until the log is there",
            interruption=_NONE,
        )
        yield Step(action="remove falkirk as a voter: a JVM voter leads; then stop it", interruption=_ELECTION)
    yield Step(
        action=f"roll the nodes to Kafka {release}, one by one at full ISR: stop, `falkirk lift prepare` its "
        "server.properties, start",
        interruption=_ROLL,
    )
