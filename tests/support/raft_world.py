"""Replicas of one quorum in one process, at the level of messages: lost, late, duplicated or reordered.

Fault model. A message is lost, delayed (so overtaken), or delivered twice. A pair of nodes is cut off in one or both
directions. A node crashes before it writes an output, between two of its writes, before or after it sends; what was
written stays. A disk is wiped: the node returns with nothing but a new directory id. Nodes snapshot their logs and cut
them. Some speak lower versions only. Voters are added and removed.

After each output the checks of `RaftChecks` run; they have the names of Kafka's invariants.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from raft_checks import RaftChecks

from falkirk.protocol import codec
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.errors import UnsupportedVersionError
from falkirk.protocol.messages import message_class
from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from falkirk.protocol.messages.add_raft_voter_request import Listener as AddListener
from falkirk.protocol.messages.api_versions_request import ApiVersionsRequest
from falkirk.protocol.messages.api_versions_response import ApiVersionsResponse, SupportedFeatureKey
from falkirk.protocol.messages.fetch_request import FetchRequest
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.raft.config import RaftConfig
from falkirk.raft.output import Append, InstallSnapshot, OutboundReply, OutboundRequest, RaftOutput
from falkirk.raft.raft_log import BOOTSTRAP_SNAPSHOT
from falkirk.raft.replica import RaftReplica
from falkirk.raft.replication_follower import fit_fetch_request
from falkirk.raft.voter_set import KRaftVersionRange, ReplicaKey, VoterNode, VoterSet
from falkirk.simulation.explorer.memory_log import LOWERING, DiskContent, MemoryLog, SnapshotContent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from falkirk.protocol.schema import WireMessage

CLUSTER_ID = "raft-world"
LISTENER = "CONTROLLER"
_FIRST_TOKEN_OF_CLIENTS = 1_000_000_000


def endpoint_of(node_id: int) -> Endpoint:
    return Endpoint("localhost", 9000 + node_id)


def directory_id(node_id: int, life: int = 1) -> bytes:
    return bytes([node_id, life]) * 8


@dataclass
class Faults:
    """Probabilities: `loss` and `duplication` per message, `crash` per output, the others every `pause_ms`."""

    pause_ms: int = 250

    loss: float = 0.0
    duplication: float = 0.0
    delay_max_ms: int = 2
    crash: float = 0.0
    cut: float = 0.0
    snapshot: float = 0.0
    wipe: float = 0.0
    change_voters: float = 0.0
    raise_kraft_version: float = 0.0


@dataclass
class Host:
    """A node's disk and, while it is up, its replica."""

    config: RaftConfig
    log: MemoryLog
    versions: dict[str, int]
    replica: RaftReplica | None = None
    applied: int = 0
    wakeup_ms: int = 1 << 60
    # By token: who asked, as which request, in which version, in which life.
    requests: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    is_wiped: bool = False

    @property
    def node_id(self) -> int:
        return self.config.node_id

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.config.node_id, self.config.directory_id)


@dataclass(order=True)
class Message:
    """A message in flight. `data` is its encoding."""

    at_ms: int
    order: int
    source: int = field(compare=False)
    target: int = field(compare=False)
    name: str = field(compare=False)
    version: int = field(compare=False)
    data: bytes = field(compare=False)
    request_id: int = field(compare=False)
    # Of which life of its source; an answer to a life that is over is thrown away.
    life: int = field(compare=False)


class _Ranked(random.Random):
    """Not random: the first node has the shortest timeouts, the second longer ones."""

    def __init__(self, rank: int) -> None:
        super().__init__(0)
        self.rank = rank

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        assert stop is not None
        return start + (stop - start) * min(self.rank, 9) // 10 // step


class RaftWorld:
    """A cluster, its network and its clock. All chance comes from `seed`."""

    def __init__(self, seed: int, *, faults: Faults | None = None, is_manual: bool = False) -> None:
        self.random = random.Random(seed)
        self.faults = faults or Faults()
        self.is_manual = is_manual
        self.now_ms = 1_000
        self.hosts: dict[int, Host] = {}
        self.lives: dict[int, int] = {}
        self.messages: list[Message] = []
        self.cuts: set[tuple[int, int]] = set()
        self.answers: dict[int, WireMessage] = {}
        self.checks = RaftChecks()
        self.facts: list[str] = []
        # Nodes that cannot take in what lowers metadata.version, as real Kafka's.
        self.unmarked: set[int] = set()
        # Nodes whose controllers could not serve at once.
        self.unready: set[int] = set()
        self._order = 0
        self._token = 0
        self._client_token = _FIRST_TOKEN_OF_CLIENTS

    # Nodes.

    def add_static(self, voters: Iterable[int], observers: Iterable[int] = (), **settings: object) -> None:
        """Make a cluster at kraft.version 0."""
        static = {node_id: endpoint_of(node_id) for node_id in voters}
        for node_id in [*static, *observers]:
            self._add(node_id, is_controller=node_id in static, static_voters=static, **settings)

    def add_dynamic(self, voters: Iterable[int], observers: Iterable[int] = (), **settings: object) -> None:
        """Make a cluster at kraft.version 1: voters are formatted with a bootstrap snapshot, observers without."""
        nodes = {
            node_id: VoterNode(
                key=ReplicaKey(node_id, directory_id(node_id)),
                listeners={LISTENER: endpoint_of(node_id)},
                kraft_versions=KRaftVersionRange(0, 1),
            )
            for node_id in voters
        }
        bootstrap = tuple(endpoint_of(node_id) for node_id in nodes)
        for node_id in [*nodes, *observers]:
            host = self._add(node_id, is_controller=True, bootstrap_servers=bootstrap, **settings)
            if node_id in nodes:
                content = SnapshotContent(kraft_version=1, voters=VoterSet(nodes).record(), history=())
                host.log = MemoryLog(DiskContent(snapshots={BOOTSTRAP_SNAPSHOT: content.encode()}))

    def _add(self, node_id: int, **settings: object) -> Host:
        defaults: dict[str, object] = {"listeners": {LISTENER: endpoint_of(node_id)}}
        config = RaftConfig(
            node_id=node_id,
            directory_id=directory_id(node_id),
            cluster_id=CLUSTER_ID,
            **(defaults | settings),  # type: ignore[arg-type]
        )
        host = self.hosts[node_id] = Host(config=config, log=MemoryLog(DiskContent(snapshots={})), versions={})
        self.lives[node_id] = 0
        return host

    def start(self, node_id: int) -> None:
        host = self.hosts[node_id]
        assert host.replica is None
        self.lives[node_id] += 1
        host.applied = 0
        chance = random.Random(self.random.randrange(0, 1 << 30))
        if self.is_manual:
            chance = _Ranked(list(self.hosts).index(node_id))
        host.replica = RaftReplica(
            host.config,
            host.log.disk.election_state,
            host.log,
            chance,
            self.now_ms,
            is_ready_to_lead=lambda: node_id not in self.unready,
        )
        self.drain(host)

    def start_all(self) -> None:
        for node_id, host in self.hosts.items():
            if host.replica is None:
                self.start(node_id)

    def crash(self, node_id: int) -> None:
        host = self.hosts[node_id]
        host.replica = None
        host.wakeup_ms = 1 << 60
        host.requests.clear()
        host.log = MemoryLog(host.log.disk)

    def wipe(self, node_id: int) -> None:
        """Lose the disk; the node is formatted without voters, like a replacement."""
        self.crash(node_id)
        host = self.hosts[node_id]
        life = host.config.directory_id[1] + 1
        host.config = replace(host.config, directory_id=directory_id(node_id, life))
        host.log = MemoryLog(DiskContent(snapshots={}))
        host.is_wiped = True
        self.checks.forget(node_id)

    @property
    def leader(self) -> Host | None:
        """The leader of the highest epoch, if any."""
        leading = [host for host in self.hosts.values() if host.replica is not None and host.replica.is_leader]
        return max(leading, key=lambda host: host.replica.epoch if host.replica else 0, default=None)

    # Time.

    def run(self, duration_ms: int, *, each_strike: Callable[[], None] = lambda: None) -> None:
        """Advance the clock: messages arrive, timers fire, faults strike."""
        end_ms = self.now_ms + duration_ms
        strike_ms = self.now_ms
        while self.now_ms < end_ms:
            if self.now_ms >= strike_ms:
                strike_ms += self.faults.pause_ms
                self._strike()
                each_strike()
            self.now_ms = min(max(self._next_event_ms(), self.now_ms), end_ms, strike_ms)
            self._step()

    def _next_event_ms(self) -> int:
        times = [self.messages[0].at_ms] if self.messages else []
        times += [host.wakeup_ms for host in self.hosts.values()]
        return min(times)

    def _step(self) -> None:
        while self.messages and self.messages[0].at_ms <= self.now_ms:
            self.deliver(heapq.heappop(self.messages))
        for host in self.hosts.values():
            if host.wakeup_ms > self.now_ms:
                continue
            if host.replica is None:
                self.start(host.node_id)
            else:
                host.replica.tick(self.now_ms)
                self.drain(host)

    def tick(self, node_id: int) -> None:
        host = self.hosts[node_id]
        assert host.replica is not None
        host.replica.tick(self.now_ms)
        self.drain(host)

    # Network.

    def deliver(self, message: Message) -> None:
        host = self.hosts[message.target]
        if host.replica is None or (message.source, message.target) in self.cuts:
            if message.name.endswith("Request"):
                self._fail(message)
            return
        body = codec.decode(message_class(message.name), message.version, message.data)
        if isinstance(body, ApiVersionsRequest):
            features = [SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)]
            answer = ApiVersionsResponse(supported_features=features)
            self._post(
                message.target, message.source, answer, version=4, request_id=message.request_id, life=message.life
            )
        elif message.name.endswith("Request"):
            self._token += 1
            host.requests[self._token] = (message.source, message.request_id, message.version, message.life)
            host.replica.receive_request(self._token, body, message.version, self.now_ms)
        elif message.life == self.lives[message.target]:
            host.replica.receive_response(message.request_id, body, self.now_ms)
        self.drain(host)

    def _fail(self, message: Message) -> None:
        source = self.hosts[message.source]
        if source.replica is not None and message.life == self.lives[message.source]:
            source.replica.request_failed(message.request_id, self.now_ms)
            self.drain(source)

    def _send_request(self, host: Host, request: OutboundRequest) -> None:
        target = request.endpoint.port - 9000
        name = type(request.message).__name__
        known = type(request.message).SCHEMA.info.versions.ranges[-1][1]
        peer = self.hosts.get(target)
        version = min(known, host.versions.get(name, known), known if peer is None else peer.versions.get(name, known))
        try:
            message = request.message
            if isinstance(message, FetchRequest):
                fit_fetch_request(message, version)
                if host.node_id in self.unmarked:
                    message.unknown_tagged_fields = ()
            codec.encode(message, version)
        except UnsupportedVersionError:
            assert host.replica is not None
            host.replica.request_failed(request.request_id, self.now_ms, is_unsupported_version=True)
            return
        if peer is None:
            assert host.replica is not None
            host.replica.request_failed(request.request_id, self.now_ms)
            return
        life = self.lives[host.node_id]
        self._post(host.node_id, target, message, version=version, request_id=request.request_id, life=life)

    def _post(self, source: int, target: int, body: WireMessage, *, version: int, request_id: int, life: int) -> None:
        faults, data = self.faults, codec.encode(body, version)
        for _ in range(1 + (self.random.random() < faults.duplication)):
            if self.random.random() < faults.loss:
                continue
            self._order += 1
            at_ms = self.now_ms + self.random.randrange(1, faults.delay_max_ms + 1)
            message = Message(at_ms, self._order, source, target, type(body).__name__, version, data, request_id, life)
            if self.is_manual:
                self.messages.append(message)
            else:
                heapq.heappush(self.messages, message)

    # What replicas want.

    def drain(self, host: Host) -> None:
        """Execute a replica's outputs until there are none, or the node crashes."""
        while host.replica is not None:
            output = host.replica.pop_output()
            if not output.is_empty:
                self._execute(host, output)
                continue
            if not host.replica.is_leader:
                host.log.delete_provisional()
            self.facts += [f"{host.node_id} {fact.event} {dict(fact.fields)}" for fact in host.replica.pop_facts()]
            wakeup_ms = host.replica.next_wakeup_ms
            host.wakeup_ms = 1 << 60 if wakeup_ms is None else wakeup_ms
            return

    def _execute(self, host: Host, output: RaftOutput) -> None:
        replica = host.replica
        assert replica is not None
        is_crash = not self.is_manual and self.random.random() < self.faults.crash
        writes = (output.election_state is not None) + len(output.log_changes)
        # How much is done before the crash; the last step is to send.
        allowed = self.random.randrange(0, writes + 2) if is_crash else writes + 1
        if output.election_state is not None and allowed:
            self.checks.election_state_written(host.node_id, output.election_state)
            host.log.write_election_state(output.election_state)
            allowed -= 1
        for change in output.log_changes[:allowed]:
            self.checks.before_log_change(host.node_id, host.log, change)
            if host.node_id in self.unmarked and isinstance(change, Append):
                assert LOWERING not in change.data, f"node {host.node_id} gets what it cannot take in"
            host.log.apply(change)
        if allowed > len(output.log_changes):
            replica.persisted(self.now_ms)
            for message in output.messages:
                if isinstance(message, OutboundReply):
                    self._reply(host, message)
                else:
                    self._send_request(host, message)
        if is_crash:
            self.crash(host.node_id)
            host.wakeup_ms = self.now_ms + self.random.choice([1, 20, 500])
            return
        self._apply(host, output)

    def _reply(self, host: Host, reply: OutboundReply) -> None:
        if reply.token >= _FIRST_TOKEN_OF_CLIENTS:
            assert reply.token not in self.answers
            self.answers[reply.token] = reply.message
            return
        source, request_id, version, life = host.requests.pop(reply.token)
        self._post(host.node_id, source, reply.message, version=version, request_id=request_id, life=life)

    def _apply(self, host: Host, output: RaftOutput) -> None:
        replica = host.replica
        assert replica is not None
        if output.leader is not None:
            self.checks.leader_reported(host.node_id, output.leader)
        if output.installed_snapshot is not None:
            assert InstallSnapshot(output.installed_snapshot) in output.log_changes
            host.applied = output.installed_snapshot.offset
        if output.high_watermark is not None:
            copies = [
                other.log
                for node_id in replica.voters
                if (other := self.hosts[node_id]) and replica.voters[node_id].is_voter(other.key)
            ]
            self.checks.high_watermark_reported(
                host.node_id,
                host.log,
                output.high_watermark,
                copies=copies if replica.is_leader and not any(each.is_wiped for each in self.hosts.values()) else None,
                voters=len(replica.voters),
            )
            host.applied = max(host.applied, output.high_watermark)

    # Clients.

    def request(self, node_id: int, message: WireMessage, version: int | None = None) -> int:
        """Send a client request to a node; its response will be in `answers` under the returned number."""
        host = self.hosts[node_id]
        assert host.replica is not None
        self._client_token += 1
        version = type(message).SCHEMA.info.versions.ranges[-1][1] if version is None else version
        host.replica.receive_request(self._client_token, message, version, self.now_ms)
        self.drain(host)
        return self._client_token

    def append(self, values: list[bytes]) -> int | None:
        """Append to the leader's log; returns the offset, None without a leader."""
        host = self.leader
        if host is None or host.replica is None:
            return None
        offset = host.replica.append(values, self.now_ms)
        self.drain(host)
        return offset

    def snapshot(self, node_id: int) -> None:
        """Snapshot a node's log up to its high watermark (or the batch boundary before), and cut the log there."""
        host = self.hosts[node_id]
        if host.replica is None or host.replica.high_watermark is None:
            return
        committed = host.replica.high_watermark
        ends = [end for each in host.log.disk.batches if (end := each.identity.end_offset) <= committed]
        if not ends:
            return
        host.replica.snapshot_created(host.log.snapshot_up_to(ends[-1], *host.replica.voters_before(ends[-1])))
        self.drain(host)

    def snapshot_behind_lowerings(self, node_id: int) -> None:
        """Do what a node does as soon as it has applied a lowering: take a snapshot and drop the log before it."""
        host = self.hosts[node_id]
        replica, lowerings = host.replica, host.log.lowerings
        if replica is None or not lowerings or node_id in self.unmarked:
            return
        ends = max(lowerings[-1].end_offset, (replica.held_back_end or -1) + 1)
        if ends <= (replica.high_watermark or 0):
            self.snapshot(node_id)

    def offer_lowering(self, node_id: int) -> None:
        """Commit by snapshot: write one of the whole log, committed or not, and offer it to those held back."""
        host = self.hosts[node_id]
        replica = host.replica
        assert replica is not None
        replica.offer_snapshot(host.log.write_provisional(*replica.voters_before(host.log.end_offset)))
        self.drain(host)

    # Faults.

    def _strike(self) -> None:
        faults, chance = self.faults, self.random
        for node_id, host in self.hosts.items():
            if host.replica is None and chance.random() < 0.5:
                self.start(node_id)
            elif chance.random() < faults.snapshot:
                self.snapshot(node_id)
        if chance.random() < faults.cut:
            self.cuts = {
                (source, target)
                for source in self.hosts
                for target in self.hosts
                if source != target and chance.random() < 0.3
            }
        elif chance.random() < 0.25:
            self.cuts.clear()

        if chance.random() < faults.change_voters:
            self._change_voters()
        if chance.random() < faults.wipe:
            self._wipe_one()
        if faults.raise_kraft_version and chance.random() < faults.raise_kraft_version:
            self._raise_kraft_version()

    def _raise_kraft_version(self) -> None:
        leader = self.leader
        if leader is not None and leader.replica is not None and leader.replica.kraft_version_refusal is None:
            leader.replica.raise_kraft_version(self.now_ms)
            self.drain(leader)

    def _change_voters(self) -> None:
        leader = self.leader
        if leader is None or leader.replica is None:
            return
        voters = leader.replica.voters
        host = self.random.choice(list(self.hosts.values()))
        key = host.key
        have_disks = {node_id for node_id in voters if voters[node_id].key == self.hosts[node_id].key}
        if host.node_id in voters:
            # What operators must not do either: remove one of two, or a good voter beside one that lost its disk. If
            # that change is not committed, no majority may be left that could lead.
            if len(voters) == 2 or (host.node_id in have_disks and len(have_disks) < len(voters)):
                return
            request: WireMessage = RemoveRaftVoterRequest(
                cluster_id=CLUSTER_ID, voter_id=key.node_id, voter_directory_id=voters[key.node_id].key.directory_id
            )
        else:
            endpoint = endpoint_of(host.node_id)
            listener = AddListener(name=LISTENER, host=endpoint.host, port=endpoint.port)
            request = AddRaftVoterRequest(
                cluster_id=CLUSTER_ID,
                voter_id=key.node_id,
                voter_directory_id=key.directory_id,
                listeners=[listener],
            )
        self.request(leader.node_id, request)

    def _wipe_one(self) -> None:
        """Wipe a disk if all voters have theirs, no voter change is in flight, and one can be spared."""
        leader = self.leader
        if leader is None or leader.replica is None:
            return
        offset = leader.replica._log.history.voters_offset
        if offset is None or offset >= (leader.replica.high_watermark or 0):
            return
        voters = leader.replica.voters
        have_disks = all(voters[node_id].key == self.hosts[node_id].key for node_id in voters)
        if have_disks and len(voters) > 2:
            self.wipe(self.random.choice(list(self.hosts)))

    def heal(self) -> None:
        """Stop all faults."""
        self.faults = Faults()
        self.cuts.clear()
        self.start_all()
