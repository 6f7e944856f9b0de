"""The cluster of a lift as it is at the moment: its quorum, its level, what each node has.

Only the quorum's leader knows whether the level is low. Brokers hear of it later, so a broker that reports the level of
before proves nothing; one that reports the target's does.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientError
from falkirk.lift.errors import LiftError, NoLeaderError
from falkirk.lift.quorum_access import lag
from falkirk.operations.ghosts import find_ghosts
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.node_versions import NodeVersions
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.lift.journal import Originals, OriginalVoter
    from falkirk.lift.lift_file import Limits
    from falkirk.lift.quorum_access import QuorumAccess
    from falkirk.operations.ghosts import Ghost
    from falkirk.protocol.endpoint import Endpoint

POLL_S: Final = 0.2
# A replica fetches at least twice in a second.
_FETCHES_MS: Final = 2000


class LiftedCluster:
    """Questions about the cluster. `target`: the level to reach.

    `limits`: how long a state is waited for, and how far behind a replica may be that has the log.

    `voters`: those to restore: those of before, with directory ids once they were made dynamic. `own_id`: that of
    falkirk's extra voter.

    `note` records what happened, with fields. `revive`, set by the way, starts what the quorum may lack for a leader.
    """

    def __init__(
        self,
        target: MetadataVersion,
        originals: Originals,
        voters: tuple[OriginalVoter, ...],
        *,
        quorum: QuorumAccess,
        brokers: AsyncAdmin,
        limits: Limits,
        note: Callable[[str, Mapping[str, object]], None],
        own_id: int | None = None,
    ) -> None:
        self.target = target
        self.originals = originals
        self.voters = voters
        self.quorum = quorum
        self.brokers = brokers
        self.note = note
        self._limit_s = limits.step_s
        self._lag = limits.lag
        self._own_id = own_id
        self.revive: Callable[[], Awaitable[None]] | None = None

    async def view(self) -> QuorumDescription | None:
        """Return the quorum; None while there is no leader."""
        try:
            return await self.quorum.describe()
        except NoLeaderError:
            return None

    async def view_within(self) -> QuorumDescription:
        """Wait for a leader. Raises LiftError."""
        deadline_s = time.monotonic() + self._limit_s
        while (view := await self.view()) is None:
            if time.monotonic() > deadline_s:
                raise LiftError(f"the quorum has had no leader for {self._limit_s:.0f} s")
            if self.revive is not None:
                await self.revive()
            await asyncio.sleep(POLL_S)
        return view

    async def level(self) -> int | None:
        """Return the finalized metadata.version; None if it is not known."""
        try:
            return await self.quorum.finalized_level()
        except (NoLeaderError, ClientError):
            reported = await reported_level(self.brokers)
        return reported if self._is_low(reported) else None

    async def level_within(self) -> int:
        """Wait until the level is known. Raises LiftError."""
        deadline_s = time.monotonic() + self._limit_s
        while (level := await self.level()) is None:
            if time.monotonic() > deadline_s:
                raise LiftError(f"no leader of the quorum has reported metadata.version for {self._limit_s:.0f} s")
            await self.view_within()
            await asyncio.sleep(POLL_S)
        return level

    async def is_lowered(self) -> bool:
        """Return whether the level is known to be the target's, or below."""
        return self._is_low(await self.level())

    async def is_lowered_within(self) -> bool:
        """Wait until it is known whether the level is low. Raises LiftError."""
        return self._is_low(await self.level_within())

    async def are_brokers_lowered(self) -> bool:
        """Return whether every broker that is not fenced reports the target's level, or a lower one."""
        nodes = (await self.brokers.describe_cluster()).nodes
        answers = (await self.brokers.api_versions(nodes)).values()
        return all(not isinstance(answer, ClientError) and self.has_low_level(answer) for answer in answers)

    def follows(self, view: QuorumDescription, node_id: int) -> bool:
        """Return whether a replica has the log and fetches it, as the leader sees it."""
        behind = lag(view, node_id)
        return behind is not None and behind <= self._lag and fetches(view, node_id)

    async def has_applied(self, view: QuorumDescription, endpoint: Endpoint) -> bool:
        """Return whether falkirk's controller there has the log in its image: then it decides once it leads."""
        answer = await self.quorum.versions_at(endpoint)
        progress = None if answer is None else answer.metadata_progress
        return progress is not None and progress.applied_offset >= view.high_watermark - self._lag

    def has_low_level(self, versions: NodeVersions) -> bool:
        """Return whether a node reports the target's level, or a lower one."""
        found = versions.finalized_features.get(METADATA_VERSION)
        return found is not None and self._is_low(found.max_version_level)

    async def ghosts_after(self) -> tuple[Ghost, ...]:
        """Return the controllers that are registered and gone now that falkirk's has ended. Raises LiftError.

        Falkirk's does not register for a lift, but its id may have been another controller's, or one of a falkirk that
        did. Raises ClientError, too.
        """
        ended = () if self._own_id is None else (self._own_id,)
        deadline_s = time.monotonic() + self._limit_s
        while True:
            view = await self.view_within()
            try:
                return find_ghosts(view, controllers=await self.quorum.registered_controllers(), ended=ended)
            except ClientError:
                # A controller of Kafka's that has just started knows no metadata.version, and refuses.
                if time.monotonic() > deadline_s:
                    raise
            await asyncio.sleep(POLL_S)

    async def changed(self, change: Awaitable[None]) -> None:
        """Await a change of the voters. Its answer may be lost with the leader: the next view shows its result."""
        try:
            await change
        except (ClientError, NoLeaderError) as error:
            self.note("change-of-voters-unanswered", {"reason": str(error)})
            await asyncio.sleep(POLL_S)

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str, *, limit_s: float | None = None) -> None:
        """Wait for a state; who does not answer shows none. `limit_s`: None for that of a step. Raises LiftError."""
        limit_s = self._limit_s if limit_s is None else limit_s
        deadline_s = time.monotonic() + limit_s
        while True:
            reason = ""
            try:
                if await is_so():
                    return
            except ClientError as error:
                reason = f" ({error})"
            if time.monotonic() > deadline_s:
                raise LiftError(f"not within {limit_s:.0f} s: {what}{reason}")
            await asyncio.sleep(POLL_S)

    async def state_fields(self) -> dict[str, object]:
        """Return leader, epoch and level for the journal; what is not known is null."""
        view, level = await self.view(), await self.level()
        return {
            "leader_id": None if view is None else view.leader_id,
            "leader_epoch": None if view is None else view.leader_epoch,
            "level": None if level is None else str(MetadataVersion.of_level(level)),
        }

    def _is_low(self, level: int | None) -> bool:
        return level is not None and level <= self.target.level


async def reported_level(brokers: AsyncAdmin) -> int | None:
    """Return the finalized metadata.version as brokers report it; None if none answers, or there is none."""
    try:
        found = (await brokers.newest_features()).finalized_features.get(METADATA_VERSION)
    except ClientError:
        return None
    return None if found is None else found.max_version_level


def fetches(view: QuorumDescription, node_id: int) -> bool:
    """Return whether a replica fetches: the leader remembers for minutes where one that has ended was.

    Times are by the leader's clock; where it reports none, what it reports is there.
    """
    fetched = {
        each.node_id: each.last_fetch_timestamp
        for each in (*view.newest_observer_states, *view.voter_states)
        if each.last_fetch_timestamp is not None
    }
    return (
        node_id == view.leader_id or node_id not in fetched or fetched[node_id] >= max(fetched.values()) - _FETCHES_MS
    )
