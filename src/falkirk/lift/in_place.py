"""The way "in place, majority": `falkirk serve` runs on the directories of a majority of the controllers for a while.

On each of their machines Kafka's controller is stopped and falkirk started on its own server.properties, one by one;
the level is lowered; Kafka's controllers come back. Voters stay the same, so they may be static. What stops and starts
processes on other machines are the operator's hooks.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.lift import hooks
from falkirk.lift.errors import LiftError
from falkirk.lift.lifted_cluster import follows
from falkirk.lift.step import Step

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from falkirk.client.node_versions import NodeVersions
    from falkirk.lift.hooks import HookRunner
    from falkirk.lift.journal import Originals, OriginalVoter
    from falkirk.lift.lifted_cluster import LiftedCluster
    from falkirk.protocol.endpoint import Endpoint

# Restarts of Kafka's controller that leads: another one of Kafka's may win the election.
_RESTARTS_MAX: Final = 10


def replaced_voters(originals: Originals) -> tuple[OriginalVoter, ...]:
    """Return a majority of the voters, the leader last: it then gives way to the others only once."""
    others = [voter for voter in originals.voters if voter.node_id != originals.leader_id]
    leader = [voter for voter in originals.voters if voter.node_id == originals.leader_id]
    majority = len(originals.voters) // 2 + 1
    return (*others[: majority - len(leader)], *leader)


class InPlace:
    """The steps, on one cluster. `lowering`: the steps that lower the level."""

    def __init__(self, cluster: LiftedCluster, runner: HookRunner) -> None:
        self._cluster = cluster
        self._hooks = runner
        self.lowering: tuple[Step, ...] = ()
        self._replaced = replaced_voters(cluster.originals)
        self._revived: set[int] = set()

    def steps(self) -> tuple[Step, ...]:
        """Return the steps of the lift, in order."""
        return (
            *map(self._replace_step, self._replaced),
            Step(
                "lead",
                "falkirk leads: Kafka's controller that leads is restarted",
                self._leads,
                self._lead,
                hooks_s=_RESTARTS_MAX * self._hooks.limit_s(hooks.STOP, hooks.START),
            ),
            *self.lowering,
            *(step._replace(is_after_lowering=True) for step in self.way_back()),
        )

    def way_back(self) -> tuple[Step, ...]:
        """Return the steps that give the quorum back as it was, at whatever level."""
        # Replaced ones last, and backwards: the one that leads is most likely the first.
        voters = (*(voter for voter in self._voters if voter not in self._replaced), *reversed(self._replaced))
        return tuple(map(self._restore_step, voters))

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

    def _replace_step(self, voter: OriginalVoter) -> Step:
        return Step(
            f"replace-{voter.node_id}",
            f"falkirk runs in place of controller {voter.node_id}",
            partial(self._runs, voter, is_falkirk=True),
            partial(self._replace, voter),
            hooks_s=self._hooks.limit_s(hooks.STOP, hooks.START_FALKIRK),
        )

    def _restore_step(self, voter: OriginalVoter) -> Step:
        return Step(
            f"restore-{voter.node_id}",
            f"Kafka's controller {voter.node_id} runs again",
            partial(self._runs, voter, is_falkirk=False),
            partial(self._restore, voter),
            hooks_s=self._hooks.limit_s(hooks.STOP_FALKIRK, hooks.START),
        )

    async def _replace(self, voter: OriginalVoter) -> None:
        await self._exchange(voter, hooks.STOP, hooks.START_FALKIRK, is_falkirk=True)

    async def _restore(self, voter: OriginalVoter) -> None:
        """Start others that do not run first: with them down the quorum would not survive this one's restart."""
        for other in self._others(voter):
            if await self._versions(other) is None:
                await self._start_kafka(other)
        if voter in self._replaced:
            await self._exchange(voter, hooks.STOP_FALKIRK, hooks.START, is_falkirk=False)
        else:
            await self._start_kafka(voter)

    async def _start_kafka(self, voter: OriginalVoter) -> None:
        answers = partial(self._answers_as, voter, is_falkirk=False)
        await self._run_until(hooks.START, voter, answers, f"controller {voter.node_id} answers")

    async def _exchange(self, voter: OriginalVoter, stop: str, start: str, *, is_falkirk: bool) -> None:
        """Stop what runs, when the rest of the quorum has the log, and start the other."""
        if await self._answers_as(voter, is_falkirk=is_falkirk):
            return
        name = f"controller {voter.node_id}"
        if await self._versions(voter) is not None:
            await self._cluster.until(partial(self._others_follow, voter), f"the voters beside {name} have the log")
        await self._run_until(stop, voter, partial(self._is_silent, voter), f"{name} has ended")
        answers = partial(self._answers_as, voter, is_falkirk=is_falkirk)
        await self._run_until(start, voter, answers, f"{name} answers")

    async def _leads(self) -> bool:
        view = await self._cluster.view()
        if view is None or view.leader_id not in {voter.node_id for voter in self._replaced}:
            return False
        return all(follows(view, voter.node_id) for voter in self._voters)

    async def _lead(self) -> None:
        """Restart Kafka's controllers that lead until a falkirk one does, and start those that do not run."""
        for _ in range(_RESTARTS_MAX):
            leader_id = (await self._cluster.view_within()).leader_id
            kafka = [voter for voter in self._voters if voter not in self._replaced]
            for voter in kafka:
                if await self._versions(voter) is None:
                    await self._start_kafka(voter)
            leading = [voter for voter in kafka if voter.node_id == leader_id]
            if not leading:
                return
            [voter] = leading
            name = f"controller {leader_id}"
            await self._cluster.until(partial(self._others_follow, voter), f"the voters beside {name} have the log")
            another_leads = partial(self._another_leads, leader_id)
            await self._run_until(hooks.STOP, voter, another_leads, f"another controller than {leader_id} leads")
            await self._start_kafka(voter)
            await self._cluster.until(partial(self._runs, voter, is_falkirk=False), f"{name} has the log")

    # --- Questions

    async def _runs(self, voter: OriginalVoter, *, is_falkirk: bool) -> bool:
        """Return whether a voter runs as falkirk or as Kafka, and has the log."""
        view = await self._cluster.view()
        has_log = view is not None and voter.node_id in view.voters and follows(view, voter.node_id)
        return has_log and await self._answers_as(voter, is_falkirk=is_falkirk)

    async def _answers_as(self, voter: OriginalVoter, *, is_falkirk: bool) -> bool:
        answer = await self._versions(voter)
        return answer is not None and (answer.metadata_progress is not None) == is_falkirk

    async def _is_silent(self, voter: OriginalVoter) -> bool:
        return await self._versions(voter) is None

    async def _others_follow(self, voter: OriginalVoter) -> bool:
        view = await self._cluster.view()
        return view is not None and all(follows(view, other.node_id) for other in self._others(voter))

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
