"""The way "extra voter, alone for seconds": falkirk joins a quorum of dynamic voters, lowers the level, and leaves.

A real controller must never read the record that lowers metadata.version; a snapshot of a lower level it takes. So
falkirk is the only voter for a moment: the others stay as observers, and come back as voters afterwards.

Each step says whether it is done already, by what the cluster itself shows, acts, and waits until the cluster shows it.
So all of them may be run again after any stop. Sources: KIP-853, KIP-1155.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.client.admin import AsyncAdmin
from falkirk.client.errors import ClientError
from falkirk.lift.errors import LiftError, LossesNotAcceptedError, NoLeaderError
from falkirk.lift.quorum_access import lag, voters_of
from falkirk.operations.feature_changes import update_features
from falkirk.operations.target_levels import TargetLevels, levels_of_release, with_own_kraft_version
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from pathlib import Path

    from falkirk.client.config import ClientConfig
    from falkirk.client.feature_update import UpdateFeaturesResult
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.lift.controller_process import ControllerProcess
    from falkirk.lift.journal import Originals, OriginalVoter
    from falkirk.lift.lift_file import LiftFile
    from falkirk.lift.quorum_access import QuorumAccess
    from falkirk.logdir.target import Target

_POLL_S: Final = 0.2
# A replica this close to the high watermark follows: the log of a live cluster is never still.
_FOLLOWS_WITHIN: Final = 100
# Requests to change the voters within one step: answers may be lost, and a change of the leader refuses some.
_CHANGES_MAX: Final = 50


class Step(NamedTuple):
    """One step of a lift. `is_done` asks the cluster; `act` changes it; the step is over when `is_done`."""

    name: str
    purpose: str
    is_done: Callable[[], Awaitable[bool]]
    act: Callable[[], Awaitable[None]]
    is_after_lowering: bool = False


class ExtraVoter:
    """The steps, on one cluster. `note` reports what a step found out, as fields."""

    def __init__(
        self,
        file: LiftFile,
        target: Target,
        originals: Originals,
        *,
        controller: ControllerProcess,
        quorum: QuorumAccess,
        brokers: AsyncAdmin,
        controller_config: ClientConfig,
        note: Callable[[str, Mapping[str, object]], None],
        keep_bundle: Callable[[Sequence[Path]], None],
    ) -> None:
        self._file = file
        self._target = target
        self._originals = originals
        self._controller = controller
        self._quorum = quorum
        self._brokers = brokers
        self._controller_config = controller_config
        self._note = note
        self._keep_bundle = keep_bundle
        self._node_id = file.place.node_id

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the lift, in order."""
        target = self._target.metadata_version
        return (
            Step("observe", "falkirk's controller follows the metadata log", self._observes, self._observe),
            Step("join", "it becomes a voter", self._has_joined, self._join),
            Step("lead", "the other voters become observers, so it leads alone", self._leads, self._lead),
            Step("lower", f"the level goes down to {target}", self.is_lowered, self._lower),
            Step(
                "follow", "every node follows the lowered log", self._is_followed, self._follow, is_after_lowering=True
            ),
            *self.way_back(),
        )

    def way_back(self) -> tuple[Step, ...]:
        """Return the steps that give the quorum back as it was, at whatever level."""
        return (
            Step("return", "the voters of the cluster are voters again", self._have_returned, self._return),
            Step("leave", "falkirk's controller leaves the quorum", self._has_left, self._leave),
            Step("end", "falkirk's controller stops", self._has_stopped, self._controller.stop),
        )

    async def is_lowered(self) -> bool:
        """Return whether the level is the target's, or below."""
        level = await reported_level(self._brokers)
        return level is not None and level <= self._target.metadata_version.level

    # --- Steps

    async def _observes(self) -> bool:
        if await self.is_lowered():
            return True
        view = await self._view()
        return view is not None and _follows(view, self._node_id)

    async def _observe(self) -> None:
        await self._controller.ensure_running()

    async def _has_joined(self) -> bool:
        if await self.is_lowered():
            return True
        view = await self._view()
        return view is not None and self._node_id in view.voters

    async def _join(self) -> None:
        await self._controller.ensure_running()
        await self._quorum.add_voter(self._controller.as_voter)

    async def _leads(self) -> bool:
        if await self.is_lowered():
            return True
        view = await self._view()
        if view is None or set(view.voters) != {self._node_id} or view.leader_id != self._node_id:
            return False
        return all(_follows(view, voter.node_id) for voter in self._originals.voters)

    async def _lead(self) -> None:
        """Remove the voters one by one, the leader last: it resigns when it is removed."""
        await self._controller.ensure_running()
        for _ in range(_CHANGES_MAX):
            view = await self._view_within()
            others = [voter for voter in voters_of(view) if voter.node_id != self._node_id]
            if not others:
                return
            first = min(others, key=lambda voter: (voter.node_id == view.leader_id, voter.node_id))
            await self._changed(self._quorum.remove_voter(first))

    async def _lower(self) -> None:
        await self._controller.ensure_running()
        endpoint = self._file.place.endpoint
        # As to a broker, which decides or forwards: this controller is registered nowhere, so nobody lists it.
        async with AsyncAdmin([endpoint], self._controller_config) as admin:
            features = await admin.describe_features()
            release, version = self._target.release, self._target.metadata_version
            levels = with_own_kraft_version(levels_of_release(release, version, UpgradeType.SAFE_DOWNGRADE), features)
            wanted = TargetLevels(levels=levels, source=str(self._target))
            safe = wanted.updates(features, UpgradeType.SAFE_DOWNGRADE)
            if not safe:
                return
            outcome = await update_features(admin, safe, is_dry_run=True, forced_snapshot=True)
            updates = safe
            if outcome.failed:
                self._check_accepted(outcome.result)
                updates = wanted.updates(features, UpgradeType.UNSAFE_DOWNGRADE)
            lowered = await update_features(admin, updates, forced_snapshot=True)
            lowered.result.all()
        details = lowered.result.details
        fields = {"losses": [] if details is None else details.losses, "levels": levels}
        self._note("level-lowered", fields)
        self._keep_bundle(self._controller.undo_bundles())

    async def _is_followed(self) -> bool:
        """Return whether the level is low, every original voter has the log, and every broker reports the level."""
        view = await self._view()
        if view is None or not await self.is_lowered():
            return False
        if not all(_follows(view, voter.node_id) for voter in self._originals.voters):
            return False
        for answer in (await self._brokers.api_versions((await self._brokers.describe_cluster()).nodes)).values():
            if isinstance(answer, ClientError):
                return False
            found = answer.finalized_features.get(METADATA_VERSION)
            if found is None or found.max_version_level > self._target.metadata_version.level:
                return False
        return True

    async def _follow(self) -> None:
        await self._view_within()

    async def _have_returned(self) -> bool:
        view = await self._view()
        return view is not None and all(voter.node_id in view.voters for voter in self._originals.voters)

    async def _return(self) -> None:
        """Add the voters one by one; the next when the one before has the log."""
        view = await self._view_within()
        if self._node_id in view.voters:
            await self._controller.ensure_running()
        for voter in self._originals.voters:
            await self._until(partial(self._is_back, voter), f"{voter.node_id} is a voter and has the log")

    async def _has_left(self) -> bool:
        view = await self._view()
        return view is not None and self._node_id not in view.voters and view.leader_id in self._original_ids

    async def _leave(self) -> None:
        view = await self._view_within()
        if self._node_id in view.voters:
            await self._controller.ensure_running()
            await self._changed(self._quorum.remove_voter(self._controller.as_voter))

    async def _has_stopped(self) -> bool:
        view = await self._view()
        return view is not None and not self._controller.is_running and self._node_id not in view.voters

    # --- Questions

    @property
    def _original_ids(self) -> frozenset[int]:
        return frozenset(voter.node_id for voter in self._originals.voters)

    async def _view(self) -> QuorumDescription | None:
        """Return the quorum; None while there is no leader."""
        try:
            return await self._quorum.describe()
        except NoLeaderError:
            return None

    async def _view_within(self) -> QuorumDescription:
        """Wait for a leader; falkirk's controller may be the one voter without which there is none."""
        deadline_s = time.monotonic() + self._file.limits.step_s
        while True:
            view = await self._view()
            if view is not None:
                return view
            if time.monotonic() > deadline_s:
                raise LiftError(f"the quorum has had no leader for {self._file.limits.step_s:.0f} s")
            await self._controller.ensure_running()
            await asyncio.sleep(_POLL_S)

    async def _changed(self, change: Awaitable[None]) -> None:
        """Await a change of the voters. Its answer may be lost with the leader: the next view shows its result."""
        try:
            await change
        except (ClientError, NoLeaderError) as error:
            self._note("change-of-voters-unanswered", {"reason": str(error)})
            await asyncio.sleep(_POLL_S)

    async def _is_back(self, voter: OriginalVoter) -> bool:
        """Add a voter unless it is one, and return whether it is one now and has the log."""
        view = await self._view_within()
        if voter.node_id not in view.voters:
            await self._changed(self._quorum.add_voter(voter))
            return False
        return _follows(view, voter.node_id)

    async def _until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        deadline_s = time.monotonic() + self._file.limits.step_s
        while not await is_so():
            if time.monotonic() > deadline_s:
                raise LiftError(f"not within {self._file.limits.step_s:.0f} s: {what}")
            await asyncio.sleep(_POLL_S)

    def _check_accepted(self, result: UpdateFeaturesResult) -> None:
        """Raise LiftError unless only losses of accepted kinds are in the way."""
        details = result.details
        refused = "; ".join(
            f"{name}: {failure.message}" for name, failure in result.values.items() if failure is not None
        )
        if details is None or details.blockers or not details.losses:
            raise LiftError(f"the level cannot be lowered: {refused}")
        kinds = self._file.not_accepted(str(loss.get("kind")) for loss in details.losses)
        if kinds:
            raise LossesNotAcceptedError(
                f"the level was not lowered: it would lose {', '.join(kinds)}, which accept_losses does not name "
                f"({len(details.losses)} losses in all; `falkirk lift check` lists them)"
            )


async def reported_level(brokers: AsyncAdmin) -> int | None:
    """Return the finalized metadata.version as brokers report it; None if none answers, or there is none."""
    try:
        found = (await brokers.newest_features()).finalized_features.get(METADATA_VERSION)
    except ClientError:
        return None
    return None if found is None else found.max_version_level


def _follows(view: QuorumDescription, node_id: int) -> bool:
    behind = lag(view, node_id)
    return behind is not None and behind <= _FOLLOWS_WITHIN
