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
    from collections.abc import Iterator, Sequence

_NONE: Final = "none"
_ELECTION: Final = "metadata writes: an election, about 2 s; data: none"
_HAND_OVER: Final = "metadata writes: 2 to 6 s; data: none"
_PRODUCERS_WAIT: Final = (
    "producers that restart under a transactional id used before: until the broker that coordinates it is rolled"
)
_ROLL: Final = "data: each partition for one leader change, below 5 s"
_BY_SNAPSHOT_VOTERS_MAX: Final = 4


class WayKind(StrEnum):
    """How falkirk becomes the majority for a moment; what needs fewer hands, and leaves fewer traces, comes first."""

    FEATURE_UPDATE = "feature update"
    EXTRA_VOTER = "extra voter, alone for seconds"
    IN_PLACE_MAJORITY = "in place, majority"
    DYNAMIC_FIRST = "voters made dynamic, then an extra voter"
    BY_SNAPSHOT = "in place of one, commit by snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumLayout:
    """What decides on the way.

    `combined`: voters that are brokers too. `can_be_dynamic`: every voter supports kraft.version 1 and can be brought
    to it while it runs, which Kafka can since 4.1. `keeps_dynamic`: the target can have kraft.version 1.
    `auto_joining`: nodes with controller.quorum.auto.join.enable. `lowers_itself`: all voters are falkirk's.
    """

    kraft_version: int
    voters: tuple[int, ...]
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
class WayChoice:
    """The way, None if there is none, with its steps; `others`: what is possible, too; `refused`: what is not."""

    kind: WayKind | None
    steps: tuple[Step, ...]
    others: tuple[WayKind, ...]
    refused: tuple[RefusedWay, ...]

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of `lift check --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: same
        return document


def choose_way(layout: QuorumLayout, *, level: str, release: str, producers_wait: bool = False) -> WayChoice:
    """Choose the first way that the layout allows.

    `level`, `release`: the metadata.version to go to, and the release that will run on it, for people.
    `producers_wait`: whether producers that restart after the lowering wait for the roll.
    """
    reasons = {kind: _reason_against(kind, layout, level) for kind in WayKind}
    possible = [kind for kind, reason in reasons.items() if reason is None]
    lowering = f"{_HAND_OVER}; {_PRODUCERS_WAIT}" if producers_wait else _HAND_OVER
    return WayChoice(
        kind=possible[0] if possible else None,
        steps=tuple(_steps(possible[0], layout, level, release, lowering)) if possible else (),
        others=tuple(possible[1:]),
        refused=tuple(RefusedWay(kind=kind, reason=reason) for kind, reason in reasons.items() if reason is not None),
    )


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
            interruption=_ROLL if voter in layout.combined else _ELECTION,
        )
    yield Step(
        action=f"lower the levels to {level}: falkirk leads; brokers and other controllers take the snapshot",
        interruption=lowering,
    )
    for voter in replaced:
        yield Step(
            action=f"stop falkirk on controller {voter}, and start its JVM again",
            interruption=_ELECTION,
        )


def _steps(kind: WayKind, layout: QuorumLayout, level: str, release: str, lowering: str) -> Iterator[Step]:
    voters = list(layout.voters)
    if kind is WayKind.FEATURE_UPDATE:
        yield Step(
            action=f"falkirk features downgrade-all --release {release}: these controllers lower the levels themselves",
            interruption=_NONE,
        )
    elif kind in (WayKind.IN_PLACE_MAJORITY, WayKind.BY_SNAPSHOT):
        replaced = voters[: len(voters) // 2 + 1] if kind is WayKind.IN_PLACE_MAJORITY else voters[:1]
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
