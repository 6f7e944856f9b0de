"""Breadth first through all runs of a scope: so the first counter-example is one of the shortest."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.simulation.explorer.cluster import Event, ExploredCluster
from falkirk.simulation.explorer.event_text import event_text
from falkirk.simulation.explorer.invariants import Past, after, logs_match
from falkirk.simulation.explorer.replica_steps import Crash
from falkirk.simulation.history.invariant import InvariantViolatedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.simulation.explorer.cluster import ClusterState, Followed
    from falkirk.simulation.explorer.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplorationResult:
    """The outcome of an exploration.

    `states`: distinct states of the cluster; `replica_states` and `replica_steps`: of single replicas. `depth`: the
    longest run. `is_complete`: no run of the scope is longer. `problem` and `run`: the invariant that does not hold,
    and the events that lead there; without one None and empty.
    """

    scope: str
    states: int
    replica_states: int
    replica_steps: int
    depth: int
    is_complete: bool
    problem: str | None
    run: tuple[str, ...]


@dataclass(slots=True)
class _Seen:
    """The states that were reached, by hash, and for each the one before and the event: 12 bytes beside the hash."""

    hashes: set[int] = field(default_factory=set)
    parents: array[int] = field(default_factory=lambda: array("q"))
    events: list[Event | None] = field(default_factory=list)

    def add(self, key: object, parent: int, event: Event | None) -> int | None:
        """Return the number of a new state; None if it is known."""
        found = hash(key)
        if found in self.hashes:
            return None
        self.hashes.add(found)
        self.parents.append(parent)
        self.events.append(event)
        return len(self.parents) - 1

    def path(self, number: int) -> list[Event]:
        """Return the events that led to a state."""
        path = []
        while (event := self.events[number]) is not None:
            path.append(event)
            number = self.parents[number]
        return path[::-1]


class Exploration:
    """All runs of a scope up to its depth. `on_depth` gets each depth, the states so far, and those to go on from."""

    def __init__(self, scope: Scope, *, on_depth: Callable[[int, int, int], None] = lambda *_: None) -> None:
        self._scope = scope
        self._on_depth = on_depth
        self._cluster = ExploredCluster(scope)
        self._seen = _Seen()
        self._pasts: dict[Past, Past] = {}
        self._matching: set[tuple[int, int]] = set()
        self._latest = Event("timers", scope.voters[0])

    def run(self) -> ExplorationResult:
        """Explore, and return what was found."""
        state, past = self._first()
        self._seen.add((state, past), -1, None)
        level = [(0, state, past)]
        depth = 0
        while level and depth < self._scope.depth_max:
            following: list[tuple[int, ClusterState, Past]] = []
            for number, state, past in level:
                for event in self._cluster.events(state):
                    try:
                        following += self._reach(number, state, past, event)
                    except InvariantViolatedError as violation:
                        return self._result(depth + 1, str(violation), [*self._seen.path(number), self._latest])
            level = following
            depth += bool(level)
            self._on_depth(depth, len(self._seen.parents), len(level))
        return self._result(depth, None, [], is_complete=not level)

    def _first(self) -> tuple[ClusterState, Past]:
        """Return the state in which runs begin: all have just started or, `starts_led`, follow the first of them."""
        state, past = self._cluster.first(), Past()
        if not self._scope.starts_led:
            return state, past
        pending = [Event("timers", self._scope.voters[0])]
        while pending:
            followed = self._cluster.follow(state, pending.pop(), is_answered_at_once=True)
            if followed is None:
                continue
            state, past = followed.state, self._checked(state, followed, past)
            pending = [Event("deliver", self._cluster.envelope(each).target, each) for each in state.messages]
        return state._replace(moved=-1), past

    def _reach(
        self, number: int, state: ClusterState, past: Past, event: Event
    ) -> Iterator[tuple[int, ClusterState, Past]]:
        """Return the new states behind an event, also those in which its replica crashes between two writes."""
        followed = self._cluster.follow(state, event)
        if followed is None:
            return
        variants = [(event, followed)]
        if state.used.crashes < self._scope.crashes_max:
            used = state.used._replace(crashes=state.used.crashes + 1)
            for step, outcome in enumerate(followed.outcomes):
                for writes in range(1, outcome.writes):
                    crash = event._replace(crash=Crash(step, writes))
                    crashed = self._cluster.follow(state._replace(used=used), crash)
                    if crashed is not None:
                        variants.append((crash, crashed))
        for variant, reached in variants:
            self._latest = variant
            past_after = self._checked(state, reached, past)
            found = self._seen.add((reached.state, past_after), number, variant)
            if found is not None:
                yield found, reached.state, past_after

    def _checked(self, state: ClusterState, reached: Followed, past: Past) -> Past:
        for outcome in reached.outcomes:
            if outcome.fatal:
                node_id = self._cluster.steps.view(outcome.node).node_id
                if node_id in self._scope.jvm_nodes:
                    raise InvariantViolatedError("JvmNodesLive", f"node {node_id} ends: {', '.join(outcome.fatal)}")
        for before, number in zip(state.nodes, reached.state.nodes, strict=True):
            if before == number:
                continue
            view = self._cluster.steps.view
            past = after(past, view(before), view(number))
            for other in reached.state.nodes:
                if other != number and (number, other) not in self._matching:
                    logs_match(view(number), view(other))
                    self._matching.add((number, other))
        return self._pasts.setdefault(past, past)

    def _result(
        self, depth: int, problem: str | None, path: list[Event], *, is_complete: bool = False
    ) -> ExplorationResult:
        return ExplorationResult(
            scope=self._scope.name,
            states=len(self._seen.parents),
            replica_states=self._cluster.steps.count,
            replica_steps=self._cluster.steps.steps,
            depth=depth,
            is_complete=is_complete,
            problem=problem,
            run=tuple(self._lines(path)),
        )

    def _lines(self, path: list[Event]) -> Iterator[str]:
        state, _ = self._first()
        yield "     " + (
            "the first leads epoch 1, and all follow" if self._scope.starts_led else "all have just started"
        )
        for number, event in enumerate(path, 1):
            yield f"{number:>3}. {event_text(self._cluster, event)}"
            if event.crash is not None:
                state = state._replace(used=state.used._replace(crashes=state.used.crashes + 1))
            followed = self._cluster.follow(state, event)
            assert followed is not None
            for before, after_it in zip(state.nodes, followed.state.nodes, strict=True):
                view, former = self._cluster.steps.view(after_it), self._cluster.steps.view(before)
                if view.text != former.text:
                    yield f"     {view.text}"
            state = followed.state
