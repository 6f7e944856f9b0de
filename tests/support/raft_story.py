"""A quorum driven by hand: one command per line; messages move only on command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raft_world import CLUSTER_ID, LISTENER, RaftWorld, directory_id, endpoint_of

from falkirk.protocol import codec
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import message_class
from falkirk.protocol.messages.add_raft_voter_request import AddRaftVoterRequest
from falkirk.protocol.messages.add_raft_voter_request import Listener as AddListener
from falkirk.protocol.messages.describe_quorum_request import DescribeQuorumRequest, PartitionData, TopicData
from falkirk.protocol.messages.remove_raft_voter_request import RemoveRaftVoterRequest
from falkirk.protocol.record_batch import read_batches

if TYPE_CHECKING:
    from raft_world import Host, Message

    from falkirk.protocol.schema import WireMessage

_ROUNDS_MAX = 300


class RaftStory:
    """Runs commands; each returns the lines that it prints."""

    def __init__(self) -> None:
        self.world = RaftWorld(1, is_manual=True)
        self._asked: dict[int, str] = {}

    def run(self, command: str) -> list[str]:
        name, *words = command.split()
        handler = getattr(self, "do_" + name.replace("-", "_"))
        lines: list[str] = handler(*words) or []
        lines += [f"  {_fact_text(fact)}" for fact in self.world.facts]
        self.world.facts.clear()
        for token, answer in list(self.world.answers.items()):
            lines.append(f"  client: {self._asked.pop(token)}: {_answer_text(answer)}")
            del self.world.answers[token]
        return lines

    def do_static(self, *words: str) -> None:
        """`static 1,2,3 [4] [option=value]`: voters, observers."""
        voters, observers, settings = _cluster(words)
        self.world.add_static(voters, observers, **settings)
        self.world.start_all()

    def do_dynamic(self, *words: str) -> None:
        voters, observers, settings = _cluster(words)
        self.world.add_dynamic(voters, observers, **settings)
        self.world.start_all()

    def do_version(self, node: str, message: str, version: str) -> None:
        """Limit a message of a node to this version."""
        self.world.hosts[int(node)].versions[message] = int(version)

    def do_unready(self, *nodes: str) -> None:
        """Make these nodes, and no others, unable to serve at once if they led."""
        self.world.unready = {int(node) for node in nodes}

    def do_timeout(self, node: str) -> None:
        """Advance the clock to a node's next deadline; only this node notices."""
        host = self.world.hosts[int(node)]
        self.world.now_ms = max(self.world.now_ms, host.wakeup_ms)
        self.world.tick(host.node_id)

    def do_wait(self, time: str) -> None:
        """Advance the clock unnoticed."""
        self.world.now_ms += int(time)

    def do_pass(self, time: str) -> None:
        """Advance the clock; all nodes notice, and messages arrive at once."""
        world = self.world
        end_ms = world.now_ms + int(time)
        self.do_deliver("quietly")
        while (next_ms := min(host.wakeup_ms for host in world.hosts.values())) <= end_ms:
            world.now_ms = max(world.now_ms, next_ms)
            for node_id, host in world.hosts.items():
                if host.wakeup_ms <= world.now_ms:
                    world.tick(node_id)
            self.do_deliver("quietly")
        world.now_ms = end_ms

    def do_cut(self, *nodes: str) -> None:
        """Partition nodes from the others, in both directions."""
        others = [node_id for node_id in self.world.hosts if str(node_id) not in nodes]
        pairs = {(int(node), other) for node in nodes for other in others}
        self.world.cuts = pairs | {(target, source) for source, target in pairs}

    def do_mend(self) -> None:
        """Remove all partitions."""
        self.world.cuts.clear()

    def do_deliver(self, *words: str) -> list[str]:
        """`deliver [1->2] [quietly]`: deliver everything, or one node's messages to another, until none is left."""
        path = next((word for word in words if "->" in word), None)
        lines = []
        for _ in range(_ROUNDS_MAX):
            message = next((each for each in self.world.messages if path in (None, _path(each))), None)
            if message is None:
                return [] if "quietly" in words else lines
            self.world.messages.remove(message)
            lines.append(f"{message.source} -> {message.target} {_message_text(message)}")
            self.world.deliver(message)
        raise AssertionError("messages without end")

    def do_drop(self, path: str) -> None:
        """Drop the messages from one node to another."""
        self.world.messages = [each for each in self.world.messages if _path(each) != path]

    def do_append(self, *values: str) -> list[str]:
        return [f"at {self.world.append([value.encode() for value in values])}"]

    def do_resign(self, node: str) -> None:
        host = self.world.hosts[int(node)]
        assert host.replica is not None
        host.replica.resign(self.world.now_ms)
        self.world.drain(host)

    def do_crash(self, node: str) -> None:
        self.world.crash(int(node))

    def do_wipe(self, node: str) -> None:
        self.world.wipe(int(node))

    def do_start(self, node: str) -> None:
        self.world.start(int(node))

    def do_snapshot(self, node: str) -> None:
        self.world.snapshot(int(node))

    def do_add(self, leader: str, node: str) -> None:
        host = self.world.hosts[int(node)]
        endpoint = endpoint_of(host.node_id)
        self._ask(
            leader,
            f"add {node}",
            AddRaftVoterRequest(
                cluster_id=CLUSTER_ID,
                voter_id=host.node_id,
                voter_directory_id=host.config.directory_id,
                listeners=[AddListener(name=LISTENER, host=endpoint.host, port=endpoint.port)],
            ),
        )

    def do_remove(self, leader: str, node: str, life: str = "1") -> None:
        key = directory_id(int(node), int(life))
        request = RemoveRaftVoterRequest(cluster_id=CLUSTER_ID, voter_id=int(node), voter_directory_id=key)
        self._ask(leader, f"remove {node}", request)

    def do_raise_kraft_version(self, node: str) -> list[str]:
        host = self.world.hosts[int(node)]
        assert host.replica is not None
        refusal = host.replica.kraft_version_refusal
        if refusal is not None:
            return [refusal]
        host.replica.raise_kraft_version(self.world.now_ms)
        self.world.drain(host)
        return [f"up to offset {host.log.end_offset - 1}"]

    def do_describe(self, node: str) -> None:
        topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        self._ask(node, "describe", DescribeQuorumRequest(topics=[topic]))

    def do_status(self) -> list[str]:
        return [_status(host) for host in self.world.hosts.values()]

    def _ask(self, node: str, what: str, request: WireMessage) -> None:
        token = self.world._client_token + 1
        self._asked[token] = what
        self.world.request(int(node), request)


def _fact_text(fact: str) -> str:
    return fact.replace("'", "").replace("{", "").replace("}", "").replace("None", "nobody")


def _cluster(words: tuple[str, ...]) -> tuple[list[int], list[int], dict[str, object]]:
    nodes = [word for word in words if "=" not in word]
    options = dict(word.split("=") for word in words if "=" in word)
    groups = [[int(node) for node in group.split(",")] for group in nodes] + [[]]
    return groups[0], groups[1], {name: int(value) for name, value in options.items()}


def _path(message: Message) -> str:
    return f"{message.source}->{message.target}"


def _status(host: Host) -> str:
    if host.replica is None:
        return f"{host.node_id} down"
    replica = host.replica
    state = type(replica._quorum.state).__name__
    batches = (stored.identity for stored in host.log.disk.batches)
    ends = ", ".join(f"{batch.base_offset}-{batch.end_offset - 1}@{batch.epoch}" for batch in batches)
    snapshot = "" if host.log.latest_snapshot is None else f" snapshot {host.log.latest_snapshot.offset}"
    voters = ",".join(map(str, sorted(replica.voters)))
    committed = replica.high_watermark
    return f"{host.node_id} {state} epoch {replica.epoch} committed {committed} voters {voters}{snapshot} log {ends}"


def _message_text(message: Message) -> str:
    body = codec.decode(message_class(message.name), message.version, message.data)
    return f"{message.name} v{message.version} {_body_text(body)}".rstrip()


def _answer_text(answer: WireMessage) -> str:
    if hasattr(answer, "topics"):
        return _body_text(answer)
    text = getattr(answer, "error_message", None)
    return ErrorCode(answer.error_code).name + (f" {text}" if text else "")  # type: ignore[attr-defined]


def _body_text(body: WireMessage) -> str:
    """Format the fields that matter to a story: the partition's, where they differ from the defaults."""
    topics = getattr(body, "topics", None) or getattr(body, "responses", None)
    if not topics:
        return ErrorCode(getattr(body, "error_code", 0)).name
    partition = topics[0].partitions[0]
    words = [
        f"{name} {_value(name, value)}"
        for name in partition.__struct_fields__
        if (value := getattr(partition, name)) not in (getattr(type(partition)(), name), b"") and name not in _UNTOLD
    ]
    endpoints = getattr(body, "node_endpoints", None)
    if endpoints:
        words.append(f"at {endpoints[0].port}")
    return ", ".join(words)


_UNTOLD = {
    "replica_directory_id",
    "voter_directory_id",
    "last_fetch_timestamp",
    "preferred_successors",
    "unaligned_records",
}


def _value(name: str, value: object) -> str:
    if name == "error_code":
        return ErrorCode(value).name
    if isinstance(value, bytes):
        return " ".join(
            f"{batch.base_offset}-{batch.last_offset}@{batch.leader_epoch}" for batch in read_batches(value)
        )
    if isinstance(value, list):
        return "(" + "; ".join(_short(each) for each in value) + ")"
    return _short(value)


def _short(value: object) -> str:
    if not hasattr(value, "__struct_fields__"):
        return str(value)
    fields = [getattr(value, name) for name in value.__struct_fields__ if not name.startswith("unknown")]
    return " ".join(str(field) for field in fields if not isinstance(field, bytes))
