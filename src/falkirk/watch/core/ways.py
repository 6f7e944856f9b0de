"""The verdict on each older release, by what is known and fresh."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.logdir.kraft_conversion import reason_not_kept
from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse, GroupInUse, cut_off_by_lowering
from falkirk.operations.lift_findings import (
    isr_blockers,
    silent_nodes,
    unregistered_voters,
    unsupporting_nodes,
)
from falkirk.watch.core.findings import FoundBlocker, Way, WayState
from falkirk.watch.core.remedies import remedy_of_blocker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.logdir.target import Target
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.operations.lift_observation import Observation
    from falkirk.watch.core.findings import GroupState
    from falkirk.watch.core.loss_index import LossIndex
    from falkirk.watch.core.losses_view import LossesView


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What verdicts are made of. A part of `unknown` is a clause on something that is not fresh."""

    targets: Sequence[Target]
    image: MetadataImage
    index: LossIndex
    view: LossesView
    observation: Observation | None
    kraft_version: int
    use: CoordinatorUse
    metadata_is_fresh: bool
    groups_are_fresh: bool
    nodes_are_fresh: bool
    unknown: tuple[str, ...]
    connection: str

    def is_below(self, number: int) -> bool:
        """Return whether a target's level is below the finalized one."""
        own = self.image.features.metadata_version
        return own is not None and self.targets[number].metadata_version < own

    def is_lossless(self, number: int) -> bool | None:
        """Return whether nothing would be lost; None if that is not known."""
        if not self.metadata_is_fresh:
            return None
        if self.index.has_any(self.index.rules_of(number).lost):
            return False
        return not self.view.lost[number] if self.groups_are_fresh else None

    def way(self, number: int) -> Way:
        """Return the verdict on a target."""
        target, rules = self.targets[number], self.index.rules_of(number)
        level = target.metadata_version
        if self.metadata_is_fresh and not self.is_below(number):
            return _way(target, WayState.NOT_BELOW)
        lossless = self.is_lossless(number)
        blockers = tuple(self._blockers(target)) if self.metadata_is_fresh else ()
        blocked = self._is_blocked(blockers)
        cut_off = Counter(
            loss.kind for loss in cut_off_by_lowering(self.use, self.image.features.finalized, rules.levels)
        )
        return Way(
            release=target.release.word,
            level=level.level,
            name=str(level),
            state=way_state(lossless, blocked),
            is_lossless=lossless,
            is_blocked=blocked,
            losses=self.view.lost[number],
            inaccessible=self.view.inaccessible[number],
            cut_off=dict(sorted(cut_off.items())),
            dropped_features=rules.dropped_features,
            blockers=tuple(map(self._found, blockers)),
            point_of_no_return=self.view.point_of_no_return(number) if lossless is False else None,
            unknown=self.unknown,
        )

    def _found(self, blocker: Blocker) -> FoundBlocker:
        broker = self.image.cluster.brokers.get(blocker.fields.get("node_id", -1))
        remedy = remedy_of_blocker(blocker, self.connection, is_fenced=broker is not None and broker.fenced)
        return FoundBlocker(
            kind=blocker.kind, fields=blocker.fields, text=blocker.text, remedy=remedy.text, command=remedy.command
        )

    def _is_blocked(self, blockers: Sequence[Blocker]) -> bool | None:
        if not self.metadata_is_fresh:
            return None
        return True if blockers else None if not self.nodes_are_fresh else False

    def _blockers(self, target: Target) -> Iterator[Blocker]:
        yield from isr_blockers(self.view.lacking, len(self.index.lacking))
        yield from unsupporting_nodes(self.image, target)
        if self.nodes_are_fresh and self.observation is not None:
            yield from (found for found in silent_nodes(self.observation) if isinstance(found, Blocker))
            yield from unregistered_voters(self.image, self.observation)
        reason = reason_not_kept(self.kraft_version, target)
        if reason is not None:
            yield Blocker(
                kind=BlockerKind.NO_WAY,
                fields={"kraft_version": self.kraft_version},
                text=f"{reason}, and kraft.version is not lowered on a running cluster: stop it, and use "
                "`falkirk logdir`",
            )


def way_state(is_lossless: bool | None, is_blocked: bool | None) -> WayState:  # noqa: FBT001
    """Return the one word for a way: a loss counts more than a blocker, for it stays."""
    if is_lossless is False:
        return WayState.CLOSED
    if is_blocked:
        return WayState.BLOCKED
    if is_lossless is None or is_blocked is None:
        return WayState.UNKNOWN
    return WayState.OPEN


def unknown_way(target: Target, unknown: tuple[str, ...]) -> Way:
    """Return the verdict before anything is known."""
    return _way(target, WayState.UNKNOWN, unknown)


def coordinator_use(groups: Sequence[GroupState], transactions: Sequence[OpenTransaction]) -> CoordinatorUse:
    """Return groups and transactions as lowering a feature counts them."""
    return CoordinatorUse(
        groups=tuple(
            GroupInUse(
                group_id=group.group,
                type=group.type,
                members=group.members,
                partition=group.partition,
                committed=group.committed_offsets,
            )
            for group in groups
        ),
        transactions=tuple(transactions),
    )


def _way(target: Target, state: WayState, unknown: tuple[str, ...] = ()) -> Way:
    is_known = state is not WayState.UNKNOWN
    return Way(
        release=target.release.word,
        level=target.metadata_version.level,
        name=str(target.metadata_version),
        state=state,
        is_lossless=True if is_known else None,
        is_blocked=False if is_known else None,
        losses={},
        inaccessible={},
        cut_off={},
        dropped_features=(),
        blockers=(),
        point_of_no_return=None,
        unknown=unknown,
    )
