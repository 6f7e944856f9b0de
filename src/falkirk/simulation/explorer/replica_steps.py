"""One step of one replica: its disk is written, and what it sends is returned. Each step is taken once and remembered.

A replica's step depends on nothing but its own state and the input. So the shipped code runs once for each pair of the
two, and the exploration of the cluster, which meets most pairs many times, looks the outcome up.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.protocol import codec
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import message_class
from falkirk.raft.config import RaftConfig
from falkirk.raft.output import ElectionState, OutboundRequest
from falkirk.raft.raft_log import BOOTSTRAP_SNAPSHOT
from falkirk.raft.replica import RaftReplica
from falkirk.raft.replication_leader import SnapshotOfferRefusedError
from falkirk.raft.voter_set import KRaftVersionRange, ReplicaKey, VoterNode, VoterSet
from falkirk.simulation.explorer.memory_log import LOWERING, DiskContent, MemoryLog, SnapshotContent
from falkirk.simulation.explorer.metadata_decisions import MetadataDecisions
from falkirk.simulation.explorer.reflection import NOW_MS, Reflection

if TYPE_CHECKING:
    from collections.abc import Hashable, MutableSequence, Sequence

    from falkirk.protocol.chance import T
    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.explorer.memory_log import BatchIdentity
    from falkirk.simulation.explorer.scope import Scope

LISTENER: Final = "CONTROLLER"
CLUSTER_ID: Final = "explored"
_PORT: Final = 9000
_TOKEN: Final = 1
_TOKEN_OF_CLIENT: Final = 2
# Facts that real Kafka ends its process for.
_FATAL: Final = frozenset(("raft-truncation-refused", "raft-snapshot-not-ahead", "raft-two-leaders"))


class Body(NamedTuple):
    """An encoded message."""

    name: str
    version: int
    data: bytes

    @classmethod
    def of(cls, message: WireMessage, version: int | None = None) -> Body:
        """Encode a message, in its newest version if none is given."""
        if version is None:
            version = type(message).SCHEMA.info.versions.ranges[-1][1]
        return cls(type(message).__name__, version, codec.encode(message, version))

    def decode(self) -> WireMessage:
        """Return the message."""
        return codec.decode(message_class(self.name), self.version, self.data)


class Slot(NamedTuple):
    """A place for one request in flight: its target, and whether the requester knows which node listens there."""

    target: int
    is_named: bool


class Sent(NamedTuple):
    """A request that a step sent."""

    slot: Slot
    body: Body


class Crash(NamedTuple):
    """A crash between two writes: in the first or second step of an event, after so many writes."""

    step: int
    writes: int


class Input(NamedTuple):
    """What happens to a replica. `kind`: request, response, failure, timers, crash, or what a node or client does."""

    kind: str
    body: Body | None = None
    slot: Slot | None = None
    crash: Crash | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a step led to.

    `node`: the number of the replica's new state. `dropped`: places of requests whose responses are not awaited any
    more. `writes`: how many writes it took. `fatal`: the facts for which real Kafka would have ended the process.
    """

    node: int
    dropped: frozenset[Slot]
    sent: tuple[Sent, ...]
    reply: Body | None
    writes: int
    fatal: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """What invariants and events read of a replica's state.

    `committed`: the batches below the high watermark. `lowers`: the log has a lowering; `can_clean`: a snapshot may
    take its place; `has_offer`: one is offered before that. `is_active`: the node's controller decides; `misfit`: what
    is wrong with the committed metadata.
    """

    node_id: int
    epoch: int
    is_leader: bool
    voted_id: int | None
    history: "tuple[BatchIdentity, ...]"
    committed: "tuple[BatchIdentity, ...]"
    voters: tuple[int, ...]
    lowers: bool
    can_clean: bool
    has_offer: bool
    is_active: bool
    misfit: str | None
    text: str


class _LowestChance:
    """Chance that always chooses the first."""

    def random(self) -> float:
        return 0.0

    def randrange(self, start: int, stop: int, /) -> int:
        assert start < stop
        return start

    def randbytes(self, n: int, /) -> bytes:
        return bytes(n)

    def choice(self, seq: Sequence[T], /) -> T:
        return seq[0]

    def shuffle(self, x: MutableSequence[Any], /) -> None:  # Any: as in Chance
        x[:] = sorted(x, key=repr)


@dataclass(slots=True)
class _Node:
    replica: RaftReplica
    log: MemoryLog
    request_ids: dict[Slot, int] = field(default_factory=dict)


class ReplicaSteps:
    """The states of replicas that were reached, by number, and the outcomes of their steps."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._reflection = Reflection()
        self._decisions = MetadataDecisions(_LowestChance())
        self._nodes: list[_Node] = []
        self._numbers: dict[Hashable, int] = {}
        self._outcomes: dict[tuple[int, Input], Outcome] = {}
        self._views: list[NodeView] = []
        self._configs = {node_id: self._config(node_id) for node_id in scope.node_ids}

    @property
    def count(self) -> int:
        """How many states of single replicas were reached."""
        return len(self._nodes)

    @property
    def steps(self) -> int:
        """How many steps of the shipped code were taken."""
        return len(self._outcomes)

    def first(self, node_id: int) -> Outcome:
        """Return the outcome of a replica's first start."""
        snapshots = {}
        if self._scope.is_dynamic and node_id in self._scope.voters:
            voters = VoterSet({each: self._voter(each) for each in self._scope.voters}).record()
            content = SnapshotContent(kraft_version=1, voters=voters, history=())
            snapshots[BOOTSTRAP_SNAPSHOT] = content.encode()
        return self._started(node_id, DiskContent(snapshots=snapshots))

    def view(self, number: int) -> NodeView:
        """Return what invariants read of a state."""
        return self._views[number]

    def step(self, number: int, given: Input) -> Outcome:
        """Return the outcome of an input in a state."""
        outcome = self._outcomes.get((number, given))
        if outcome is None:
            outcome = self._outcomes[number, given] = self._step(number, given)
        return outcome

    def voter_key(self, node_id: int) -> ReplicaKey:
        """Return the key by which a replica becomes a voter."""
        return ReplicaKey(node_id, self._configs[node_id].directory_id)

    def _step(self, number: int, given: Input) -> Outcome:
        former = self._nodes[number]
        node_id = self._views[number].node_id
        if given.kind == "crash":
            return self._started(node_id, former.log.disk)
        replica = self._reflection.copy_of(former.replica)
        log = replica._log.reader  # noqa: SLF001
        assert isinstance(log, MemoryLog)
        node = _Node(replica, log, dict(former.request_ids))
        match given:
            case Input("request" | "change-voter" as kind, Body() as body):
                token = _TOKEN if kind == "request" else _TOKEN_OF_CLIENT
                replica.receive_request(token, body.decode(), body.version, NOW_MS)
            case Input("response", Body() as body, Slot() as slot):
                replica.receive_response(node.request_ids[slot], body.decode(), NOW_MS)
            case Input("failure", None, Slot() as slot):
                replica.request_failed(node.request_ids[slot], NOW_MS)
            case Input("timers"):
                self._reflection.let_all_timers_pass(replica)
                replica.tick(NOW_MS)
            case Input(kind):
                self._act(kind, node, self._views[number])
        if given.crash is not None:
            _drain(node, given.crash.writes)
            return self._started(node_id, log.disk)
        return self._settled(node_id, node, former.request_ids, None if given.body is None else given.body.version)

    def _act(self, kind: str, node: _Node, view: NodeView) -> None:
        """Do what a node's driver, controller or client does with its replica."""
        replica, log = node.replica, node.log
        match kind:
            case "append" | "lower":
                replica.append([LOWERING if kind == "lower" else b"record"], NOW_MS)
            case "register" | "finalize":
                decide = self._decisions.register if kind == "register" else self._decisions.finalize
                records = decide(log.values_before(log.end_offset), replica.epoch)
                if records:
                    replica.append(records, NOW_MS)
            case "offer":
                with suppress(SnapshotOfferRefusedError):
                    replica.offer_snapshot(log.write_provisional(*replica.voters_before(log.end_offset)))
            case "clean":
                end_offset = view.committed[-1].end_offset
                replica.snapshot_created(log.snapshot_up_to(end_offset, *replica.voters_before(end_offset)))
            case _:
                raise AssertionError(f"{kind} is no input")

    def _started(self, node_id: int, disk: DiskContent) -> Outcome:
        log = MemoryLog(disk)
        replica = RaftReplica(self._configs[node_id], disk.election_state, log, _LowestChance(), NOW_MS)
        return self._settled(node_id, _Node(replica, log), None)

    def _settled(
        self, node_id: int, node: _Node, former_ids: dict[Slot, int] | None, reply_version: int | None = None
    ) -> Outcome:
        """Write and send what the step led to, and number the new state. `former_ids` None: the process is new."""
        drained = _drain(node, None, reply_version)
        if not node.replica.is_leader:
            node.log.delete_provisional()
        awaited = node.replica._requests._sent.keys()  # noqa: SLF001
        sent = tuple(
            Sent(slot, Body.of(request.message))
            for request in drained.requests
            if request.request_id in awaited and (slot := _slot(request))
        )
        node.request_ids.update({_slot(each): each.request_id for each in drained.requests})
        node.request_ids = {slot: number for slot, number in node.request_ids.items() if number in awaited}
        all_slots = {Slot(each, is_named) for each in self._configs for is_named in (True, False)}
        dropped = all_slots if former_ids is None else {
            slot for slot, number in former_ids.items() if node.request_ids.get(slot) != number
        }  # fmt: skip
        facts = [fact.event for fact in node.replica.pop_facts()]
        return Outcome(
            node=self._number(node_id, node),
            dropped=frozenset(dropped),
            sent=sent,
            reply=drained.reply,
            writes=drained.writes,
            fatal=tuple(event for event in facts if event in _FATAL),
        )

    def _number(self, node_id: int, node: _Node) -> int:
        key = node_id, self._reflection.fingerprint(node.replica)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._nodes)
            self._nodes.append(node)
            self._views.append(self._view(node_id, node))
        return number

    def _view(self, node_id: int, node: _Node) -> NodeView:
        replica, log, stored = node.replica, node.log, node.log.disk.election_state
        history, high_watermark = log.history, replica.high_watermark
        role = "leads" if replica.is_leader else "follows" if replica.leader.leader_id is not None else "has no leader"
        known = "-" if high_watermark is None else high_watermark
        end = f"{log.end_offset}, epoch {log.last_epoch}"
        start = replica.leader.epoch_start_offset
        lowerings, held_back = log.lowerings, replica.held_back_end
        behind = max(lowerings[-1].end_offset if lowerings else 0, 0 if held_back is None else held_back + 1)
        return NodeView(
            node_id=node_id,
            epoch=replica.epoch,
            is_leader=replica.is_leader,
            voted_id=stored.voted_id,
            history=history,
            committed=tuple(each for each in history if each.end_offset <= (high_watermark or 0)),
            voters=tuple(sorted(replica.voters)),
            lowers=bool(lowerings),
            can_clean=bool(lowerings) and behind <= (high_watermark or 0),
            has_offer=log.has_provisional,
            is_active=start is not None and (high_watermark or 0) > start,
            misfit=self._decisions.misfit(log.values_before(high_watermark or 0))
            if self._scope.decisions_max
            else None,
            text=f"{node_id} {role} in epoch {replica.epoch}, log ends at {end}, high watermark {known}",
        )

    def _config(self, node_id: int) -> RaftConfig:
        scope = self._scope
        return RaftConfig(
            node_id=node_id,
            directory_id=bytes([node_id]) * 16,
            cluster_id=CLUSTER_ID,
            is_controller=True,
            static_voters=None if scope.is_dynamic else {each: endpoint_of(each) for each in scope.voters},
            bootstrap_servers=tuple(endpoint_of(each) for each in scope.voters) if scope.is_dynamic else (),
            listeners={LISTENER: endpoint_of(node_id)},
            has_pre_vote=scope.has_pre_vote,
            follows_lowerings=node_id not in scope.jvm_nodes,
            # A request that failed may be sent again at once, and no fetch waits: other events come in between anyway.
            retry_backoff_ms=0,
            fetch_max_wait_ms=0,
            # One batch in a response, and most snapshots.
            fetch_bytes_max=90,
        )

    def _voter(self, node_id: int) -> VoterNode:
        return VoterNode(
            key=self.voter_key(node_id),
            listeners={LISTENER: endpoint_of(node_id)},
            kraft_versions=KRaftVersionRange(0, 1),
        )


@dataclass(slots=True)
class _Drained:
    requests: list[OutboundRequest] = field(default_factory=list)
    reply: Body | None = None
    writes: int = 0


def endpoint_of(node_id: int) -> Endpoint:
    """Return where a replica listens."""
    return Endpoint("localhost", _PORT + node_id)


def _slot(request: OutboundRequest) -> Slot:
    return Slot(request.endpoint.port - _PORT, request.node_id is not None)


def _drain(node: _Node, writes_max: int | None, reply_version: int | None = None) -> _Drained:
    """Execute outputs until there are none, or until so many writes are done."""
    drained = _Drained()
    while not (output := node.replica.pop_output()).is_empty:
        state = output.election_state
        for change in (*(() if state is None else (state,)), *output.log_changes):
            if drained.writes == writes_max:
                return drained
            drained.writes += 1
            if isinstance(change, ElectionState):
                node.log.write_election_state(change)
            else:
                node.log.apply(change)
        node.replica.persisted(NOW_MS)
        for message in output.messages:
            if isinstance(message, OutboundRequest):
                drained.requests.append(message)
            elif message.token == _TOKEN:
                drained.reply = Body.of(message.message, reply_version)
    return drained
