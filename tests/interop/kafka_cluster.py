"""A cluster of real Kafka nodes on this machine: format, start, stop, restart with another release."""

import base64
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kafka_node import BROKER, CONTROLLER, KafkaNode, KafkaNodeError, NodeLayout, Quorum
from kafka_ports import free_ports

COMBINED = (BROKER, CONTROLLER)
# Members that left without a word stay in their groups for the length of a test: sessions last half an hour.
_SESSION_MS = "1800000"
_HEARTBEAT_MS = "300"
# What every node gets unless a test says otherwise. Releases ignore names that they do not know.
DEFAULT_SETTINGS: MappingProxyType[str, str] = MappingProxyType(
    {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "2",
        "share.coordinator.state.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        "group.streams.initial.rebalance.delay.ms": "0",
        # A node that was killed, or whose last words were lost, may register again after a session. Not too short: a
        # busy machine must not fence nodes that are well.
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
        # Small index files, or a killed node leaves 20 MB of them for each partition.
        "log.index.size.max.bytes": "65536",
        # Some snapshots come about while a cluster is seeded.
        "metadata.log.max.record.bytes.between.snapshots": "8000",
        # Nothing is deleted by age or compacted while answers are compared, however old a directory is.
        "log.retention.ms": "-1",
        "offsets.retention.minutes": "2147483647",
        "producer.id.expiration.ms": "2147483647",
        "transactional.id.expiration.ms": "2147483647",
        "log.cleaner.backoff.ms": "86400000",
    }
    | {f"group.{kind}.max.session.timeout.ms": _SESSION_MS for kind in ("consumer", "share", "streams")}
    | {f"group.{kind}.session.timeout.ms": _SESSION_MS for kind in ("consumer", "share", "streams")}
    | {f"group.{kind}.min.heartbeat.interval.ms": _HEARTBEAT_MS for kind in ("consumer", "share", "streams")}
    | {f"group.{kind}.heartbeat.interval.ms": _HEARTBEAT_MS for kind in ("consumer", "share", "streams")}
)


def random_uuid() -> str:
    """A random id in Kafka's form: URL-safe base64 of 16 bytes, not beginning with a dash (command lines)."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def node_layouts(home: Path, roles: Mapping[int, tuple[str, ...]], *, log_dirs: int = 1) -> tuple[NodeLayout, ...]:
    """Layouts for new nodes below `home`, with `log_dirs` log dirs each, on free ports."""
    ports = iter(free_ports(3 * len(roles)))
    return tuple(
        NodeLayout(
            node_id=node_id,
            roles=node_roles,
            log_dirs=tuple(home / f"node-{node_id}" / f"d{number}" for number in range(log_dirs)),
            broker_port=next(ports),
            scram_port=next(ports),
            controller_port=next(ports),
        )
        for node_id, node_roles in roles.items()
    )


class KafkaCluster:
    """Nodes of one release that share a quorum. `home` has their properties and logs, and new nodes' log dirs."""

    def __init__(
        self,
        release: str,
        layouts: Sequence[NodeLayout],
        *,
        home: Path,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.release = release
        self.home = home
        self.layouts = tuple(layouts)
        self.dynamic = dynamic
        self.settings = dict(settings or {})
        self.cluster_id = random_uuid()
        brokers = [layout for layout in layouts if BROKER in layout.roles]
        controllers = tuple(layout for layout in layouts if CONTROLLER in layout.roles)
        quorum = Quorum(dynamic=dynamic, controllers=controllers)
        combined = [layout for layout in brokers if CONTROLLER in layout.roles]
        effective = _replication_settings(len(brokers)) | _shutdown_settings(len(combined))
        effective |= DEFAULT_SETTINGS | self.settings
        self.nodes = {
            layout.node_id: self._node(layout, quorum, home / f"run-node-{layout.node_id}", effective)
            for layout in self.layouts
        }

    @classmethod
    def new(
        cls,
        release: str,
        home: Path,
        roles: Mapping[int, tuple[str, ...]] | None = None,
        *,
        log_dirs: int = 1,
        dynamic: bool = False,
        settings: Mapping[str, str] | None = None,
    ) -> "KafkaCluster":
        """Nodes on new directories below `home`, by default one combined node; call `format` next."""
        layouts = node_layouts(home, roles or {1: COMBINED}, log_dirs=log_dirs)
        return cls(release, layouts, home=home, dynamic=dynamic, settings=settings)

    @property
    def bootstrap_servers(self) -> str:
        """The brokers' plain text addresses."""
        return ",".join(f"127.0.0.1:{node.broker_port}" for node in self.layouts if BROKER in node.roles)

    @property
    def running_servers(self) -> str:
        """The plain text addresses of the running brokers."""
        running = [node.layout for node in self.nodes.values() if node.pid is not None]
        return ",".join(f"127.0.0.1:{layout.broker_port}" for layout in running if BROKER in layout.roles)

    @property
    def scram_servers(self) -> str:
        """The brokers' SASL/SCRAM addresses."""
        return ",".join(f"127.0.0.1:{node.scram_port}" for node in self.layouts if BROKER in node.roles)

    def moved_to(
        self,
        where: Path | Mapping[int, Sequence[Path]],
        release: str,
        *,
        home: Path,
        dynamic: bool | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> "KafkaCluster":
        """The same nodes, on the same ports, with another release and other log dirs; `settings` are added to theirs.

        `where` has the log dirs by node id, or is a folder with `node-<id>/<name of the log dir>`, as `falkirk logdir`
        writes them. Ports stay, because dynamic voters find one another by those in the metadata.
        """
        if isinstance(where, Path):
            where = {
                layout.node_id: [where / f"node-{layout.node_id}" / path.name for path in layout.log_dirs]
                for layout in self.layouts
            }
        layouts = [replace(layout, log_dirs=tuple(where[layout.node_id])) for layout in self.layouts]
        kind = self.dynamic if dynamic is None else dynamic
        return KafkaCluster(release, layouts, home=home, dynamic=kind, settings=self.settings | dict(settings or {}))

    def format(
        self, *, release_version: str | None = None, scram: Sequence[str] = (), arguments: Sequence[str] = ()
    ) -> None:
        """Format every node.

        `release_version` is a metadata version or a release, `scram` has lines for --add-scram, and `arguments` are
        further options of StorageTool, such as --feature.
        """
        options = ["--release-version", release_version] if release_version else []
        for line in scram:
            options += ["--add-scram", line]
        voters = self._initial_controllers() if self.dynamic else ()
        for node in self.nodes.values():
            ours = voters if CONTROLLER in node.layout.roles else ()
            node.format(self.cluster_id, *options, *ours, *arguments)

    def start(self, timeout_s: float = 90) -> None:
        """Start all nodes and wait until all serve; on failure stop them all."""
        try:
            for node in self.nodes.values():
                node.start()
            for node in self.nodes.values():
                node.wait_started(timeout_s)
        except BaseException:
            self.kill()
            raise

    def stop(self, timeout_s: float = 60) -> None:
        """Stop all running nodes cleanly: brokers first, then the quorum."""
        running = [node for node in self.nodes.values() if node.pid is not None]
        brokers_only = [node for node in running if CONTROLLER not in node.layout.roles]
        others = [node for node in running if CONTROLLER in node.layout.roles]
        problems = []
        for group in (brokers_only, others):
            for node in group:
                node.terminate()
            for node in group:
                try:
                    node.wait_stopped(timeout_s)
                except KafkaNodeError as error:
                    problems.append(str(error))
        if problems:
            raise KafkaNodeError("\n".join(problems))

    def kill(self) -> None:
        """Kill all nodes at once."""
        for node in self.nodes.values():
            node.kill()

    @contextmanager
    def running(self) -> Iterator["KafkaCluster"]:
        """Start, and stop cleanly at the end of the block; when the block fails the nodes are killed."""
        self.start()
        try:
            yield self
        except BaseException:
            self.kill()
            raise
        self.stop()

    def _node(self, layout: NodeLayout, quorum: Quorum, home: Path, settings: Mapping[str, str]) -> KafkaNode:
        return KafkaNode(self.release, layout, quorum, home=home, settings=settings)

    def _initial_controllers(self) -> list[str]:
        """The StorageTool option that names the first voters; a lone controller needs no list."""
        controllers = [layout for layout in self.layouts if CONTROLLER in layout.roles]
        if len(controllers) == 1:
            return ["--standalone"]
        voters = [f"{node.node_id}@127.0.0.1:{node.controller_port}:{random_uuid()}" for node in controllers]
        return ["--initial-controllers", ",".join(voters)]


class Clusters:
    """Makes clusters; `kill` ends those that still run."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._made: list[KafkaCluster] = []

    def new(self, release: str, *arguments: Any, **options: Any) -> KafkaCluster:  # Any: as KafkaCluster.new
        """Make a cluster as KafkaCluster.new does, in a folder of its own."""
        cluster = KafkaCluster.new(release, self._home / f"cluster-{len(self._made)}", *arguments, **options)
        return self.adopt(cluster)

    def adopt(self, cluster: KafkaCluster) -> KafkaCluster:
        """Take responsibility for ending a cluster that was made elsewhere."""
        self._made.append(cluster)
        return cluster

    def kill(self) -> None:
        """Kill all nodes of all clusters."""
        for cluster in self._made:
            cluster.kill()


def _replication_settings(brokers: int) -> dict[str, str]:
    """Replicate internal topics as far as there are brokers."""
    replicas = str(max(1, min(3, brokers)))
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
    }


def _shutdown_settings(combined: int) -> dict[str, str]:
    """Disable controlled shutdown if several nodes are combined.

    Brokers would wait five minutes for it once the nodes that stopped before them have taken the quorum with them.
    """
    return {"controlled.shutdown.enable": "false"} if combined > 1 else {}
