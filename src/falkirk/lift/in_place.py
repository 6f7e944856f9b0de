"""The ways in place: `falkirk serve` runs on the directories of controllers for a while, of a majority or of one.

On each of their machines Kafka's controller is stopped and falkirk started on its own server.properties, one by one;
the level is lowered; Kafka's controllers come back. Voters stay the same, so they may be static. What stops and starts
processes on other machines are the operator's hooks.

One falkirk controller commits by the snapshot (docs/internals/commit-by-snapshot.md). Its node may be a broker, too:
that is stopped meanwhile.
"""

from __future__ import annotations

import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientError
from falkirk.lift import hooks
from falkirk.lift.errors import LiftError
from falkirk.lift.step import Step
from falkirk.operations.lift_way import replaced_voters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from falkirk.client.node_versions import NodeVersions
    from falkirk.lift.hooks import HookRunner
    from falkirk.lift.journal import OriginalVoter
    from falkirk.lift.lifted_cluster import LiftedCluster
    from falkirk.protocol.endpoint import Endpoint

# Elections until falkirk wins one: a controller of Kafka's may win it, too.
_ELECTIONS_MAX: Final = 20
_ELECTION_S: Final = 5.0
# What stops the one and starts the other, by whether falkirk is to run.
_HOOKS: Final = {True: (hooks.STOP, hooks.START_FALKIRK), False: (hooks.STOP_FALKIRK, hooks.START)}
# As many voters elect a leader while one of them is stopped.
_VOTERS_WITHOUT_ONE: Final = 3


class InPlace:
    """The steps, on one cluster. `lowering`: the steps that lower the level.

    `is_whole`: whether all nodes serve and all partitions are in sync.
    """

    def __init__(self, cluster: LiftedCluster, runner: HookRunner, is_whole: Callable[[], Awaitable[bool]]) -> None:
        self._cluster = cluster
        self._hooks = runner
        self._is_whole = is_whole
        self.lowering: tuple[Step, ...] = ()
        voters = {voter.node_id: voter for voter in cluster.originals.voters}
        leader_id, is_one = cluster.originals.leader_id, cluster.originals.replaces_one
        self._replaced = tuple(voters[each] for each in replaced_voters([*voters], leader_id, is_one=is_one))
        self._revived: set[int] = set()

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the lift, in order."""
        return (
            *(self._exchange_step(voter, is_falkirk=True) for voter in self._replaced),
            Step(
                "lead",
                "falkirk leads: it stands for election",
                self._leads,
                self._lead,
                hooks_s=self._hooks.limit_s(hooks.START, hooks.START_FALKIRK),
            ),
            *self.lowering,
            *(step._replace(is_after_lowering=True) for step in self.way_back()),
        )

    @property
    def replaces_broker(self) -> bool:
        """True if a broker is missing meanwhile."""
        return any(map(self._is_replaced_broker, self._replaced))

    def way_back(self) -> tuple[Step, ...]:
        """Return the steps that give the quorum back as it was, at whatever level."""
        # Replaced ones last, and backwards: the one that leads is most likely the first.
        voters = (*(voter for voter in self._voters if voter not in self._replaced), *reversed(self._replaced))
        return tuple(self._exchange_step(voter, is_falkirk=False) for voter in voters)

    async def leader(self) -> Endpoint:
        """Return where the falkirk controller listens that leads. Raises LiftError if another one does."""
        view = await self._cluster.view_within()
        for voter in self._replaced:
            if voter.node_id == view.leader_id:
                return voter.endpoint
        raise LiftError(f"controller {view.leader_id} leads, which is Kafka's")

    async def revive(self) -> None:
        """Start controllers that do not answer, each once: too few may run for a leader. Raises HookError."""
        for voter in self._voters:
            if voter.node_id not in self._revived and await self._versions(voter) is None:
                self._revived.add(voter.node_id)
                name = hooks.START_FALKIRK if voter in self._replaced else hooks.START
                await self._hooks.run(name, voter.node_id, voter.endpoint)

    # --- Steps

    def _exchange_step(self, voter: OriginalVoter, *, is_falkirk: bool) -> Step:
        """Return the step after which a voter runs as falkirk, or as Kafka again."""
        node_id = voter.node_id
        runs, hooks_s = partial(self._runs, voter, is_falkirk=is_falkirk), self._hooks.limit_s(*_HOOKS[is_falkirk])
        if is_falkirk:
            what, act = (
                f"falkirk runs in place of controller {node_id}",
                partial(self._exchange, voter, is_falkirk=True),
            )
            return Step(f"replace-{node_id}", what, runs, act, hooks_s=hooks_s)
        what = f"Kafka's controller {node_id} runs again"
        return Step(f"restore-{node_id}", what, runs, partial(self._restore, voter), hooks_s=hooks_s)

    async def _restore(self, voter: OriginalVoter) -> None:
        """Start others that do not run first: with them down the quorum would not survive this one's restart."""
        for other in self._others(voter):
            if await self._versions(other) is None:
                await self._start_kafka(other)
        if voter in self._replaced:
            await self._exchange(voter, is_falkirk=False)
        else:
            await self._start_kafka(voter)

    async def _start_kafka(self, voter: OriginalVoter) -> None:
        answers = partial(self._answers_as, voter, is_falkirk=False)
        await self._run_until(hooks.START, voter, answers, f"controller {voter.node_id} answers")

    async def _exchange(self, voter: OriginalVoter, *, is_falkirk: bool) -> None:
        """Stop what runs, when the rest of the quorum has the log, and start the other."""
        if await self._answers_as(voter, is_falkirk=is_falkirk):
            return
        stop, start = _HOOKS[is_falkirk]
        name = f"controller {voter.node_id}"
        answer = await self._versions(voter)
        if answer is not None:
            progress = answer.metadata_progress
            if len(self._voters) < _VOTERS_WITHOUT_ONE and progress is not None and progress.holds_lowering:
                raise LiftError(f"{name} has a lowering of the level in its log that is not behind it yet")
            await self._cluster.until(partial(self._others_follow, voter), f"the voters beside {name} have the log")
            if is_falkirk and self._is_replaced_broker(voter):
                await self._cluster.until(self._is_whole, "all nodes answer, and all partitions are in sync")
        await self._run_until(stop, voter, partial(self._is_silent, voter), f"{name} has ended")
        if not is_falkirk:
            await self._cut_off(voter)
        answers = partial(self._answers_as, voter, is_falkirk=is_falkirk)
        await self._run_until(start, voter, answers, f"{name} answers")

    async def _cut_off(self, stopped: OriginalVoter) -> None:
        """Wait for another leader before Kafka's controller runs on the log of a falkirk one that was stopped.

        If that ends with a lowering that was never committed, the controller must not commit it as the leader.
        """
        if len(self._voters) >= _VOTERS_WITHOUT_ONE:
            leads = partial(self._another_leads, stopped.node_id)
            await self._cluster.until(leads, f"another controller than {stopped.node_id} leads")

    async def _leads(self) -> bool:
        view = await self._cluster.view()
        if view is None or view.leader_id not in {voter.node_id for voter in self._replaced}:
            return False
        return all(self._cluster.follows(view, voter.node_id) for voter in self._voters)

    async def _lead(self) -> None:
        """Let falkirk stand for election until it leads, and start controllers that do not run."""
        for _ in range(_ELECTIONS_MAX):
            await self._start_silent()
            view = await self._cluster.view_within()
            if view.leader_id in {voter.node_id for voter in self._replaced}:
                return
            candidate = next(
                (each for each in self._replaced if self._cluster.follows(view, each.node_id)), self._replaced[0]
            )
            with suppress(ClientError):
                await self._cluster.quorum.ask_to_lead(candidate, view)
            with suppress(LiftError):
                leads = partial(self._another_leads, view.leader_id)
                await self._cluster.until(leads, "another controller leads", limit_s=_ELECTION_S)
        raise LiftError(f"falkirk has won none of {_ELECTIONS_MAX} elections")

    async def _start_silent(self) -> None:
        """Start what does not answer, and wait for it: falkirk wins no election that it is not there for."""
        for voter in self._voters:
            if await self._versions(voter) is None:
                is_falkirk = voter in self._replaced
                answers = partial(self._answers_as, voter, is_falkirk=is_falkirk)
                await self._run_until(_HOOKS[is_falkirk][1], voter, answers, f"controller {voter.node_id} answers")

    # --- Questions

    async def _runs(self, voter: OriginalVoter, *, is_falkirk: bool) -> bool:
        """Return whether a voter runs as falkirk or as Kafka, and has the log."""
        view = await self._cluster.view()
        has_log = view is not None and voter.node_id in view.voters and self._cluster.follows(view, voter.node_id)
        if view is None or not has_log:
            return False
        if is_falkirk:
            return await self._cluster.has_applied(view, voter.endpoint)
        if not await self._answers_as(voter, is_falkirk=False):
            return False
        return not self._is_replaced_broker(voter) or await self._is_whole()

    def _is_replaced_broker(self, voter: OriginalVoter) -> bool:
        """Return whether a broker is missing while the voter is replaced."""
        return voter in self._replaced and voter.node_id in {each.node_id for each in self._cluster.originals.brokers}

    async def _answers_as(self, voter: OriginalVoter, *, is_falkirk: bool) -> bool:
        answer = await self._versions(voter)
        return answer is not None and (answer.metadata_progress is not None) == is_falkirk

    async def _is_silent(self, voter: OriginalVoter) -> bool:
        return await self._versions(voter) is None

    async def _others_follow(self, voter: OriginalVoter) -> bool:
        view = await self._cluster.view()
        return view is not None and all(self._cluster.follows(view, other.node_id) for other in self._others(voter))

    async def _another_leads(self, leader_id: int) -> bool:
        view = await self._cluster.view()
        return view is not None and view.leader_id != leader_id

    async def _versions(self, voter: OriginalVoter) -> NodeVersions | None:
        return await self._cluster.quorum.versions_at(voter.endpoint)

    async def _run_until(
        self, name: str, voter: OriginalVoter, is_so: Callable[[], Awaitable[bool]], what: str
    ) -> None:
        """Run a hook, and wait for what it should bring about: without limit where a person does it."""
        await self._hooks.run(name, voter.node_id, voter.endpoint)
        await self._cluster.until(is_so, what, limit_s=math.inf if math.isinf(self._hooks.limit_s(name)) else None)

    def _others(self, voter: OriginalVoter) -> Iterator[OriginalVoter]:
        return (other for other in self._voters if other != voter)

    @property
    def _voters(self) -> tuple[OriginalVoter, ...]:
        return self._cluster.voters
