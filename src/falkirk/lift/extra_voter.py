"""The way "extra voter, alone for seconds": falkirk joins a quorum of dynamic voters, lowers the level, and leaves.

A real controller must never read the record that lowers metadata.version; a snapshot of a lower level it takes. So
falkirk is the only voter for a moment: the others stay as observers, and come back as voters afterwards.

Each step says whether it is done already, by what the cluster itself shows, acts, and waits until the cluster shows it.
So all of them may be run again after any stop. Sources: KIP-853, KIP-1155.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.lift.quorum_access import voters_of
from falkirk.lift.step import Step
from falkirk.operations.voter_changes import upgrade_to_dynamic_voters

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from falkirk.lift.controller_process import ControllerProcess
    from falkirk.lift.journal import OriginalVoter
    from falkirk.lift.lifted_cluster import LiftedCluster

# Requests to change the voters within one step: answers may be lost, and a change of the leader refuses some.
_CHANGES_MAX: Final = 50


class ExtraVoter:
    """The steps, on one cluster. `lowering`: the steps that lower the level; `keep_bundle` copies undo bundles."""

    def __init__(
        self,
        cluster: LiftedCluster,
        controller: ControllerProcess,
        *,
        lowering: tuple[Step, ...],
        keep_bundle: Callable[[Sequence[Path]], None],
    ) -> None:
        self._cluster = cluster
        self._controller = controller
        self._lowering = lowering
        self._keep_bundle = keep_bundle
        self._node_id = controller.node_id

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the lift, in order."""
        return (
            Step("upgrade", "static voters become dynamic (kraft.version 1)", self._is_dynamic, self._upgrade),
            Step("observe", "falkirk's controller follows the metadata log", self._observes, self._observe),
            Step("join", "it becomes a voter", self._has_joined, self._join),
            Step("lead", "the other voters become observers, so it leads alone", self._leads, self._lead),
            *self._lowering,
            *(step._replace(is_after_lowering=True) for step in self.way_back()),
        )

    def way_back(self) -> tuple[Step, ...]:
        """Return the steps that give the quorum back as it was, at whatever level."""
        return (
            Step("return", "the voters of the cluster are voters again", self._have_returned, self._return),
            Step("leave", "falkirk's controller leaves the quorum", self._has_left, self._leave),
            Step("end", "falkirk's controller stops", self._has_stopped, self._controller.stop),
        )

    async def _is_dynamic(self) -> bool:
        return all(_is_known(voter) for voter in self._voters)

    async def _upgrade(self) -> None:
        """Raise kraft.version, which gives voters directory ids, and write these down."""
        voters = voters_of(await self._cluster.view_within())
        if not all(map(_is_known, voters)):
            (await upgrade_to_dynamic_voters(self._cluster.brokers, validate_only=False)).all()
            await self._cluster.until(self._are_all_known, "every voter has a directory id")
            voters = voters_of(await self._cluster.view_within())
        self._cluster.voters = voters
        self._cluster.note("voters", {"voters": msgspec.to_builtins(voters)})

    async def _are_all_known(self) -> bool:
        view = await self._cluster.view()
        return view is not None and all(map(_is_known, voters_of(view)))

    async def _observes(self) -> bool:
        view = await self._cluster.view()
        if view is None or not self._cluster.follows(view, self._node_id):
            return False
        return await self._cluster.has_applied(view, self._controller.as_voter.endpoint)

    async def _observe(self) -> None:
        await self._controller.ensure_running()

    async def _has_joined(self) -> bool:
        view = await self._cluster.view()
        return view is not None and self._node_id in view.voters

    async def _join(self) -> None:
        await self._controller.ensure_running()
        await self._cluster.quorum.add_voter(self._controller.as_voter)

    async def _leads(self) -> bool:
        view = await self._cluster.view()
        if view is None or set(view.voters) != {self._node_id} or view.leader_id != self._node_id:
            return False
        return all(self._cluster.follows(view, voter.node_id) for voter in self._voters)

    async def _lead(self) -> None:
        """Remove the voters one by one, the leader last: it resigns when it is removed."""
        await self._controller.ensure_running()
        for _ in range(_CHANGES_MAX):
            view = await self._cluster.view_within()
            others = [voter for voter in voters_of(view) if voter.node_id != self._node_id]
            if not others:
                return
            first = min(others, key=lambda voter: (voter.node_id == view.leader_id, voter.node_id))
            await self._cluster.changed(self._cluster.quorum.remove_voter(first))

    async def _have_returned(self) -> bool:
        view = await self._cluster.view()
        return view is not None and all(voter.node_id in view.voters for voter in self._voters)

    async def _return(self) -> None:
        """Keep the undo bundle, and add the voters one by one; the next when the one before has the log."""
        self._keep_bundle(self._controller.undo_bundles())
        view = await self._cluster.view_within()
        if self._node_id in view.voters:
            await self._controller.ensure_running()
        for voter in self._voters:
            await self._cluster.until(partial(self._is_back, voter), f"{voter.node_id} is a voter and has the log")

    async def _is_back(self, voter: OriginalVoter) -> bool:
        """Add a voter unless it is one, and return whether it is one now and has the log."""
        view = await self._cluster.view_within()
        if voter.node_id not in view.voters:
            await self._cluster.changed(self._cluster.quorum.add_voter(voter))
            return False
        return self._cluster.follows(view, voter.node_id)

    async def _has_left(self) -> bool:
        view = await self._cluster.view()
        is_original = view is not None and view.leader_id in {voter.node_id for voter in self._voters}
        return view is not None and is_original and self._node_id not in view.voters

    async def _leave(self) -> None:
        view = await self._cluster.view_within()
        if self._node_id in view.voters:
            await self._controller.ensure_running()
            await self._cluster.changed(self._cluster.quorum.remove_voter(self._controller.as_voter))

    async def _has_stopped(self) -> bool:
        view = await self._cluster.view()
        return view is not None and not self._controller.is_running and self._node_id not in view.voters

    @property
    def _voters(self) -> tuple[OriginalVoter, ...]:
        return self._cluster.voters


def _is_known(voter: OriginalVoter) -> bool:
    """Return whether a voter has a directory id, as dynamic voters have."""
    return int(voter.directory_id, 16) != 0
