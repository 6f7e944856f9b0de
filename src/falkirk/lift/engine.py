"""Performs the steps of a lift, whatever its way: each is checked, done, verified and written down.

The cluster is the truth about what is done. A step that fails before the level is low gives the quorum back as it was;
whether it is low is what the quorum's leader says, and where no leader says it nothing is given back.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Protocol

from falkirk.client.errors import ClientError
from falkirk.lift.errors import LevelUnknownError, LiftError, LossesNotAcceptedError
from falkirk.lift.lifted_cluster import POLL_S

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.lift.lift_file import Limits
    from falkirk.lift.lifted_cluster import LiftedCluster
    from falkirk.lift.probe import Probe
    from falkirk.lift.step import Step, Way


class Record(Protocol):
    """Writes down an event of a step."""

    def __call__(self, event: str, step: str | None = None, fields: dict[str, Any] | None = None) -> None:  # Any: JSON
        """Append it to the journal."""
        ...


class Engine:
    """Goes a way, and back. `notice` gets one line for people as a step begins.

    `has_begun_lowering`: whether the journal has it; before, the level cannot be low.
    """

    def __init__(
        self,
        way: Way,
        cluster: LiftedCluster,
        *,
        limits: Limits,
        has_begun_lowering: Callable[[], bool],
        record: Record,
        notice: Callable[[str], None],
    ) -> None:
        self._way = way
        self._cluster = cluster
        self._limits = limits
        self._has_begun_lowering = has_begun_lowering
        self._record = record
        self._notice = notice

    async def go(self, probe: Probe, further: Sequence[Step] = ()) -> None:
        """Do all steps of the way, and further ones, and name registrations of controllers that are gone.

        Raises LiftError with the state that a failed step has left, ClientError once all are done.
        """
        # A lift that was stopped may have lost its leader, who alone knows where to go on.
        await self._is_lowered()
        for step in (*self._way.steps(), *further):
            if not step.is_after_lowering and await self._cluster.is_lowered():
                continue
            try:
                await self._do(step, probe)
            except (LiftError, ClientError) as error:
                self._record("failed", step.name, {"reason": str(error)})
                kind = LossesNotAcceptedError if isinstance(error, LossesNotAcceptedError) else LiftError
                raise kind(f"step {step.name}: {error}. {await self._settled(step)}") from error
        for ghost in await self._cluster.ghosts_after():
            self._record("ghost-registered", fields=ghost.document())

    async def abort(self) -> None:
        """Restore the voters of before. Raises LiftError once the level is low, LevelUnknownError."""
        if await self._is_lowered():
            raise LiftError(
                "the level is low already: go on with `falkirk lift run`. To go up again, upgrade it with "
                "kafka-features while the binaries are new; the undo bundle has what was lost"
            )
        for step in self._way.way_back():
            await self._do(step, None)
        if await self._is_lowered():
            raise LiftError(
                "the voters are those of before, but the level has become low meanwhile: `falkirk lift run` ends "
                "the lift"
            )
        self._record("aborted")

    async def _settled(self, failed: Step) -> str:
        """Restore the voters of before if the level is not low; return what is the case then, as a sentence."""
        if failed.is_after_lowering:
            return "The level is low: run the same command again to go on"
        try:
            await self.abort()
        except LevelUnknownError as unknown:
            return f"{unknown}. Nothing was given back: run the same command again to go on"
        except (LiftError, ClientError) as not_back:
            if await self._cluster.is_lowered():
                return "The level is low: run the same command again to go on"
            return f"The quorum could not be given back: {not_back}. Run `falkirk lift abort`"
        voters = ", ".join(str(voter.node_id) for voter in self._cluster.voters)
        is_upgraded = self._cluster.voters != self._cluster.originals.voters
        return f"The voters are {voters} again, {'dynamic now' if is_upgraded else 'as before'}"

    async def _is_lowered(self) -> bool:
        """Return whether the level is low. Raises LevelUnknownError."""
        if not self._has_begun_lowering():
            return False
        try:
            return await self._cluster.is_lowered_within()
        except LiftError as error:
            raise LevelUnknownError(f"Whether the level is low is not known: {error}") from error

    async def _do(self, step: Step, probe: Probe | None) -> None:
        """Do one step, unless the cluster shows that it is done; wait until it shows it."""
        if await self._is_done(step):
            return
        self._notice(f"{step.name}: {step.purpose}")
        self._record("begun", step.name)
        begun_s = time.monotonic()
        acting = asyncio.ensure_future(step.act())
        try:
            while not acting.done() or not await self._is_done(step):
                if acting.done():
                    acting.result()
                self._check_limits(step, begun_s, probe)
                await asyncio.sleep(POLL_S)
            acting.result()
        finally:
            acting.cancel()
            await asyncio.gather(acting, return_exceptions=True)
        fields: dict[str, Any] = {"duration_s": round(time.monotonic() - begun_s, 2)}  # Any: JSON
        if probe is not None:
            fields["longest_interruption_s"] = round(probe.longest_s(begun_s), 2)
            fields["interruptions"] = probe.interruptions(begun_s)
        self._record("done", step.name, fields | await self._cluster.state_fields())

    async def _is_done(self, step: Step) -> bool:
        """Return whether the cluster shows that a step is done; nodes that do not answer show nothing."""
        try:
            return await step.is_done()
        except ClientError:
            return False

    def _check_limits(self, step: Step, begun_s: float, probe: Probe | None) -> None:
        outage_s = 0.0 if probe is None or step.is_after_lowering else probe.silent_s
        if outage_s > self._limits.metadata_outage_s:
            raise LiftError(f"no metadata write has gone through for {outage_s:.0f} s")
        limit_s = self._limits.step_s + step.hooks_s
        if time.monotonic() - begun_s > limit_s:
            raise LiftError(f"not done within {limit_s:.0f} s")
