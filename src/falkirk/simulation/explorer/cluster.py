"""A cluster's states, and the events that lead from one to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from falkirk.protocol.messages.add_raft_voter_request import Listener as AddListener
from falkirk.protocol.messages.api_versions_request import ApiVersionsRequest
from falkirk.protocol.messages.api_versions_response import ApiVersionsResponse, SupportedFeatureKey
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.simulation.explorer.replica_steps import (
    CLUSTER_ID,
    LISTENER,
    Body,
    Input,
    ReplicaSteps,
    Slot,
    endpoint_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.simulation.explorer.replica_steps import Crash, NodeView, Outcome
    from falkirk.simulation.explorer.scope import Scope

_LATE: Final = None
# The field of `Used` that counts events of a kind.
_COUNTED: Final = {
    "append": "appends",
    "crash": "crashes",
    "lose": "losses",
    "lose-answer": "losses",
    "change-voter": "voter_changes",
    "lower": "lowerings",
    "register": "decisions",
    "finalize": "decisions",
}


class Envelope(NamedTuple):
    """A message in flight. `slot`: the requester's place for it; None if its response is not awaited any more."""

    source: int
    target: int
    slot: Slot | None
    is_request: bool
    body: Body


class Used(NamedTuple):
    """How many events of a kind the run has had."""

    appends: int = 0
    crashes: int = 0
    losses: int = 0
    voter_changes: int = 0
    lowerings: int = 0
    decisions: int = 0


class ClusterState(NamedTuple):
    """`nodes`: the number of each replica's state, in the order of node ids. `messages`: numbers, ascending.

    `moved`: the replicas that have taken part in an event, as bits in the order of node ids.
    """

    nodes: tuple[int, ...]
    messages: tuple[int, ...]
    used: Used
    moved: int


class Event(NamedTuple):
    """What happens next, to a replica and perhaps a message. `subject`: the voter that is added or removed."""

    kind: str
    node: int
    message: int | None = None
    crash: "Crash | None" = None
    subject: int | None = None


class Followed(NamedTuple):
    """The state behind an event, and the outcomes of the replicas' steps in it."""

    state: ClusterState
    outcomes: "tuple[Outcome, ...]"


class ExploredCluster:
    """The transitions of a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.steps = ReplicaSteps(scope)
        self._envelopes: list[Envelope] = []
        self._envelope_numbers: dict[Envelope, int] = {}
        self._index = {node_id: index for index, node_id in enumerate(scope.node_ids)}
        api_versions = ApiVersionsResponse(
            supported_features=[SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)]
        )
        self._api_versions = Body.of(api_versions)
        self._changes = {node_id: self._voter_changes(node_id) for node_id in scope.node_ids}

    def first(self) -> ClusterState:
        """Return the state in which all replicas have just started for the first time."""
        outcomes = [self.steps.first(node_id) for node_id in self.scope.node_ids]
        state = ClusterState(tuple(each.node for each in outcomes), (), Used(), 0)
        for node_id, outcome in zip(self.scope.node_ids, outcomes, strict=True):
            state = self._with_sent(state, node_id, outcome)
        return state

    def envelope(self, number: int) -> Envelope:
        """Return a message."""
        return self._envelopes[number]

    def views(self, state: ClusterState) -> tuple[NodeView, ...]:
        """Return what invariants read of each replica."""
        return tuple(map(self.steps.view, state.nodes))

    def events(self, state: ClusterState) -> Iterator[Event]:
        """Yield what can happen next."""
        scope, used = self.scope, state.used
        for number in state.messages:
            envelope = self._envelopes[number]
            yield Event("deliver", envelope.target, number)
            if envelope.slot is not None and used.losses < scope.losses_max:
                yield Event("lose", envelope.source if envelope.is_request else envelope.target, number)
                if not scope.has_separate_answers:
                    yield Event("lose-answer", envelope.target, number)
        for index, node_id in enumerate(scope.node_ids):
            view = self.steps.view(state.nodes[index])
            yield Event("timers", node_id)
            if used.crashes < scope.crashes_max:
                yield Event("crash", node_id)
            yield from self._events_of_lowering(view, used)
            if view.is_leader:
                yield from self._events_of_leader(view, used)

    def _events_of_leader(self, view: NodeView, used: Used) -> Iterator[Event]:
        scope, node_id = self.scope, view.node_id
        if used.appends < scope.appends_max:
            yield Event("append", node_id)
        if view.is_active and used.decisions < scope.decisions_max:
            yield Event("register", node_id)
            yield Event("finalize", node_id)
        if used.voter_changes < scope.voter_changes_max:
            for subject in scope.node_ids:
                yield Event("change-voter", node_id, subject=subject)

    def _events_of_lowering(self, view: NodeView, used: Used) -> Iterator[Event]:
        """Yield how a replica that is not real Kafka's lowers the level, offers the snapshot, and cleans its log."""
        if view.node_id in self.scope.jvm_nodes:
            return
        if view.can_clean:
            yield Event("clean", view.node_id)
        if not view.is_leader:
            return
        if view.lowers and not view.has_offer:
            yield Event("offer", view.node_id)
        # Everything before it is committed, and new writes wait.
        if not view.lowers and used.lowerings < self.scope.lowerings_max and view.committed == view.history:
            yield Event("lower", view.node_id)

    def follow(self, state: ClusterState, event: Event, *, is_answered_at_once: bool = False) -> Followed | None:
        """Return the state behind an event; None if it is none of the scope."""
        if not self._is_first_of_its_kind(state, event.node):
            return None
        is_separate = self.scope.has_separate_answers and not is_answered_at_once
        followed = self._follow(state, event, is_separate=is_separate)
        if followed.state == state:
            return None
        for number in followed.state.nodes:
            if self.steps.view(number).epoch > self.scope.epochs_max:
                return None
        return followed

    def _follow(self, state: ClusterState, event: Event, *, is_separate: bool) -> Followed:
        used = state.used
        count = _COUNTED.get(event.kind)
        if count is not None:
            state = state._replace(used=used._replace(**{count: getattr(used, count) + 1}))
        match event:
            case Event("deliver" | "lose-answer", _, int() as number):
                return self._deliver(state, number, event, is_separate=is_separate)
            case Event("lose", node_id, int() as number):
                slot = self._envelopes[number].slot
                assert slot is not None
                state = state._replace(messages=_without(state.messages, number))
                given = Input("failure", slot=slot)
            case Event("change-voter", node_id, subject=int() as subject):
                voters = self.steps.view(state.nodes[self._index[node_id]]).voters
                added, removed = self._changes[subject]
                given = Input("change-voter", removed if subject in voters else added)
            case Event(kind, node_id):
                given = Input(kind)
        return self._stepped(state, node_id, given)

    def _deliver(self, state: ClusterState, number: int, event: Event, *, is_separate: bool) -> Followed:
        source, target, slot, is_request, body = self._envelopes[number]
        first, second = (event.crash if event.crash and event.crash.step == step else None for step in (0, 1))
        state = state._replace(messages=_without(state.messages, number))
        if not is_request:
            return self._stepped(state, target, Input("response", body, slot, first))
        if body.name == ApiVersionsRequest.__name__:
            reply: Body | None = self._api_versions
            followed = Followed(state, ())
        else:
            followed = self._stepped(state, target, Input("request", body, crash=first))
            reply = followed.outcomes[0].reply if first is None else None
        if slot is None or reply is None:
            return followed
        if is_separate:
            answer = self._number(Envelope(target, source, slot, False, reply))
            return followed._replace(state=_with_message(followed.state, answer))
        given = Input("failure", slot=slot) if event.kind == "lose-answer" else Input("response", reply, slot, second)
        answered = self._stepped(followed.state, source, given)
        return Followed(answered.state, (*followed.outcomes, *answered.outcomes))

    def _stepped(self, state: ClusterState, node_id: int, given: Input) -> Followed:
        index = self._index[node_id]
        outcome = self.steps.step(state.nodes[index], given)
        nodes = (*state.nodes[:index], outcome.node, *state.nodes[index + 1 :])
        state = state._replace(nodes=nodes, moved=state.moved | 1 << index)
        return Followed(self._with_sent(state, node_id, outcome), (outcome,))

    def _with_sent(self, state: ClusterState, node_id: int, outcome: Outcome) -> ClusterState:
        """Mark the messages whose responses are not awaited any more as late, and add those that the step sent."""
        messages = set()
        for number in state.messages:
            envelope = self._envelopes[number]
            requester = envelope.source if envelope.is_request else envelope.target
            if requester != node_id or envelope.slot not in outcome.dropped:
                messages.add(number)
            elif envelope.is_request and self.scope.has_late_requests:
                messages.add(self._number(envelope._replace(slot=_LATE)))
        for slot, body in outcome.sent:
            messages.add(self._number(Envelope(node_id, slot.target, slot, True, body)))
        return state._replace(messages=tuple(sorted(messages)))

    def _number(self, envelope: Envelope) -> int:
        number = self._envelope_numbers.get(envelope)
        if number is None:
            number = self._envelope_numbers[envelope] = len(self._envelopes)
            self._envelopes.append(envelope)
        return number

    def _is_first_of_its_kind(self, state: ClusterState, node_id: int) -> bool:
        """Return whether no replica that could stand for this one, and has not moved either, comes before it.

        Replicas of a kind differ in nothing but their names until they move. So each run is another one's under other
        names in which they move in the order of their ids.
        """
        index = self._index[node_id]
        if state.moved >> index & 1:
            return True
        kind = self._kind(node_id)
        return all(
            state.moved >> other & 1 or self._kind(other_id) != kind
            for other_id, other in self._index.items()
            if other < index
        )

    def _kind(self, node_id: int) -> tuple[bool, bool]:
        return node_id in self.scope.voters, node_id in self.scope.jvm_nodes

    def _voter_changes(self, node_id: int) -> tuple[Body, Body]:
        endpoint, key = endpoint_of(node_id), self.steps.voter_key(node_id)
        added = AddRaftVoterRequest(
            cluster_id=CLUSTER_ID,
            voter_id=node_id,
            voter_directory_id=key.directory_id,
            listeners=[AddListener(name=LISTENER, host=endpoint.host, port=endpoint.port)],
        )
        removed = RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=node_id, voter_directory_id=key.directory_id)
        return Body.of(added), Body.of(removed)


def _without(messages: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(each for each in messages if each != number)


def _with_message(state: ClusterState, number: int) -> ClusterState:
    return state._replace(messages=tuple(sorted({*state.messages, number})))
