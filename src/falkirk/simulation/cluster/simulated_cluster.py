"""The cluster of a run: controllers and brokers on hosts of their own, scripted brokers, administrators, clients."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

from falkirk.node.config.node_config import BROKER, CONTROLLER, Listener, NodeConfig
from falkirk.node.events import ShutdownRequested
from falkirk.node.node import Node
from falkirk.simulation.cluster.data_clients import DataClients
from falkirk.simulation.cluster.formatted_disk import format_broker_disk, format_controller_disk, format_rehearsed_disk
from falkirk.simulation.plans.roll_plan import GHOST_ID
from falkirk.simulation.plans.scenario import CLUSTER_ID, RELEASES
from falkirk.simulation.views.node_logs import NodeLogs
from falkirk.simulation.workload.administrator import Administrator
from falkirk.simulation.workload.feature_administrator import FeatureAdministrator
from falkirk.simulation.workload.quorum_administrator import QuorumAdministrator
from falkirk.simulation.workload.scripted_broker import ScriptedBroker
from falkirk.storage.bootstrap_checkpoint import FILE_NAME as BOOTSTRAP_CHECKPOINT
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.image.controller_registration import ControllerRegistration
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.simulation.history.data_history import DataHistory
    from falkirk.simulation.history.group_history import GroupHistory
    from falkirk.simulation.history.transaction_history import TransactionHistory
    from falkirk.simulation.history.write_history import History
    from falkirk.simulation.machine.host import Host, Program
    from falkirk.simulation.machine.world import World
    from falkirk.simulation.plans.scenario import Scenario
    from falkirk.simulation.views.replica_view import ReplicaView
    from falkirk.versions.release import Release

LOG_DIR: Final = "/data"
_SECOND_LOG_DIR: Final = "/more"
_CONTROLLER_LISTENER: Final = "CONTROLLER"
_BROKER_LISTENER: Final = "PLAINTEXT"
_FIRST_SCRIPTED_BROKER: Final = 11
_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_SUPER_USERS: Final = "User:ANONYMOUS"
# Kafka's minutes become seconds.
_PROPERTIES: Final = {
    "replica.lag.time.max.ms": "3000",
    "replica.fetch.wait.max.ms": "300",
    "replica.fetch.backoff.ms": "200",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "log.flush.start.offset.checkpoint.interval.ms": "2000",
    "log.retention.check.interval.ms": "1500",
    "log.initial.task.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
}
# Simulated time starts here, so that timestamps are realistic.
_EPOCH_MS: Final = 1_700_000_000_000
# A voter's disk is wiped only while there are at least this many voters.
_VOTERS_MIN: Final = 3


class Cluster:
    """All hosts of a run. `directory_ids`: of each controller's current disk.

    `releases`: the release that each node runs from its next start on; an operator changes it.
    """

    def __init__(
        self,
        world: World,
        scenario: Scenario,
        history: History,
        data_history: DataHistory,
        group_history: GroupHistory,
        *,
        transaction_history: TransactionHistory,
    ) -> None:
        self._world = world
        self._scenario = scenario
        self._history = history
        self._chance = world.chance("cluster")
        self.releases = {
            node_id: scenario.release_of(node_id) for node_id in (*scenario.controller_ids, *scenario.broker_nodes)
        }
        self.directory_ids = {node_id: self._chance.randbytes(16) for node_id in scenario.controller_ids}
        if scenario.rehearsed is not None:
            first = {node.node_id: node.directory_ids[0] for node in scenario.rehearsed.nodes}
            self.directory_ids = {node_id: first[node_id] for node_id in scenario.controller_ids}
        self._controllers = {node_id: self._add_controller(node_id) for node_id in scenario.controller_ids}
        self._broker_nodes = {node_id: self._add_broker_node(node_id) for node_id in scenario.broker_nodes}
        scripted = range(_FIRST_SCRIPTED_BROKER, _FIRST_SCRIPTED_BROKER + scenario.broker_count)
        self._broker_ids = [*scripted, *scenario.brokers]
        self._scripted_brokers = [self._add_scripted_broker(broker_id) for broker_id in scripted]
        self._administrators = [self._add_administrator(number + 1) for number in range(scenario.administrator_count)]
        if scenario.has_dynamic_voters:
            self._administrators.append(self._add_quorum_administrator())
        self._ghost = self._operator = None
        if scenario.roll is not None:
            self._operator = self._add_operator()
            self._ghost = self._add_ghost() if scenario.roll.has_ghost else None
        self._data_clients = None
        if scenario.data is not None:
            self._data_clients = DataClients(
                world,
                scenario,
                scenario.data,
                data_history,
                group_history,
                transactions=transaction_history,
                log_dirs=self.log_dirs,
                epoch_ms=_EPOCH_MS,
            )

    @property
    def controllers(self) -> list[Host]:
        """The controllers' hosts."""
        return list(self._controllers.values())

    @property
    def nodes(self) -> list[Host]:
        """The hosts on which nodes run."""
        return [*self._controllers.values(), *self._broker_nodes.values()]

    @property
    def brokers(self) -> list[Host]:
        """The hosts of brokers of both kinds."""
        return [*self._broker_nodes.values(), *self._scripted_brokers]

    @property
    def data_hosts(self) -> list[Host]:
        """The hosts of brokers that hold partition data."""
        nodes = self._controllers | self._broker_nodes
        return [nodes[node_id] for node_id in self._scenario.brokers]

    def format(self) -> None:
        """Format all disks."""
        scenario = self._scenario
        if scenario.rehearsed is not None:
            for node in scenario.rehearsed.nodes:
                disk, log_dirs = self.host_of(node.node_id).disk, self._log_dirs_of(node.node_id)
                format_rehearsed_disk(disk, log_dirs, scenario, node, now_ms=_EPOCH_MS)
            return
        first_voters = {node_id: self.directory_ids[node_id] for node_id in scenario.first_voter_ids}
        for node_id in scenario.controller_ids:
            is_first = scenario.has_dynamic_voters and node_id in first_voters
            self._format(node_id, first_voters if is_first else None)
        for node_id, host in self._broker_nodes.items():
            format_broker_disk(host.disk, LOG_DIR, node_id, self._chance.randbytes(16), now_ms=_EPOCH_MS)
        for log_dir in self.log_dirs[1:]:
            for node_id in scenario.brokers:
                disk = (self._controllers | self._broker_nodes)[node_id].disk
                format_broker_disk(disk, log_dir, node_id, self._chance.randbytes(16), now_ms=_EPOCH_MS)

    def start(self) -> None:
        """Start all hosts."""
        clients = [] if self._data_clients is None else self._data_clients.hosts
        rolling = [host for host in (self._operator, self._ghost) if host is not None]
        for host in [*self.nodes, *self._scripted_brokers, *self._administrators, *clients, *rolling]:
            host.start()

    def shut_down(self, host: Host) -> None:
        """Ask a program for a controlled shutdown."""
        self._world.timeline.add(host.name, "is asked to stop")
        host.deliver(ShutdownRequested())

    def wipe(self, host: Host) -> bool:
        """Replace a controller's disk by a new one and return True, unless the quorum could lose committed data.

        A voter with a new disk is another voter: until it is replaced, the old one counts as lost.
        """
        node_id = self.node_id_of(host)
        if node_id not in self._controllers or not self._may_lose(node_id):
            return False
        host.crash("its disk is gone")
        host.disk.wipe()
        self.directory_ids[node_id] = self._chance.randbytes(16)
        self._format(node_id, None)
        return True

    def node_id_of(self, host: Host) -> int | None:
        """Return the id of the node on a host; None if the host runs another program."""
        nodes = self._controllers | self._broker_nodes
        return next((node_id for node_id, other in nodes.items() if other is host), None)

    def host_of(self, node_id: int) -> Host:
        """Return the host of a node."""
        return (self._controllers | self._broker_nodes)[node_id]

    # --- For an operator

    @property
    def feature_administrator(self) -> FeatureAdministrator:
        """The program that sends the operator's requests."""
        assert self._operator is not None, "the scenario has one"
        return cast("FeatureAdministrator", self._operator.program)

    @property
    def ghost(self) -> Host:
        """The host of the broker that leaves for good."""
        assert self._ghost is not None, "the scenario has one"
        return self._ghost

    def is_broker_unfenced(self, broker_id: int) -> bool:
        """Return whether an active controller has the broker registered and unfenced."""
        registered = (image.cluster.brokers.get(broker_id) for image in self._active_images)
        return any(broker is not None and not broker.fenced for broker in registered)

    def is_registered_as_it_is(self, node_id: int) -> bool:
        """Return whether the registrations of a node at an active controller match its running process."""
        return any(self._misregistered(node_id, image) is None for image in self._active_images)

    def are_all_registered(self) -> bool:
        """Return whether all nodes are registered with what they support."""
        return all(self.is_registered_as_it_is(node_id) for node_id in (*self._controllers, *self._broker_nodes))

    def forget_bootstrap(self, node_id: int) -> None:
        """Remove bootstrap.checkpoint, as the upgrade guide requires: an older release may not know the level in it."""
        path = f"{LOG_DIR}/{BOOTSTRAP_CHECKPOINT}"
        disk = self.host_of(node_id).disk
        if disk.exists(path):
            MemoryDisk.remove(disk, path)

    @property
    def finalized_features(self) -> dict[str, int] | None:
        """Return the finalized levels of an active controller; None if no controller is active."""
        return next((image.features.levels() for image in self._active_images), None)

    @property
    def _active_images(self) -> list[MetadataImage]:
        return [replica.image for replica in self.replicas.values() if replica.is_active_controller]

    def _misregistered(self, node_id: int, image: MetadataImage) -> str | None:
        """Return the role in which a node is not registered, or not with what it supports; None if all match."""
        program = self.host_of(node_id).program
        if not isinstance(program, Node):
            return f"node {node_id} does not run"
        wanted = {(name, levels.lowest, levels.highest) for name, levels in program.config.supported_features.items()}
        cluster, level = image.cluster, image.features.metadata_version
        roles: list[tuple[str, BrokerRegistration | ControllerRegistration | None]] = []
        if program.config.is_broker:
            roles.append((BROKER, cluster.brokers.get(node_id)))
        if program.config.is_controller and level is not None and level.controller_registration_supported:
            roles.append((CONTROLLER, cluster.controllers.get(node_id)))
        for role, registered in roles:
            found = () if registered is None else registered.features
            if {(each.name, each.min_supported_version, each.max_supported_version) for each in found} != wanted:
                return f"{role} {node_id} is not registered as {program.config.release.word}"
        return None

    def end_workload(self) -> None:
        """Let administrators and producers start nothing new."""
        for host in self._administrators:
            if isinstance(host.program, Administrator | QuorumAdministrator):
                host.program.is_over = True
        if self._data_clients is not None:
            self._data_clients.end()

    @property
    def replicas(self) -> dict[int, ReplicaView]:
        """Return the running nodes by node id."""
        running = [cast("ReplicaView", host.program) for host in self.nodes if host.program is not None]
        return {replica.node_id: replica for replica in running}

    @property
    def brokers_with_logs(self) -> dict[int, NodeLogs]:
        """Return the running brokers that have opened their logs, by node id."""
        nodes = [host.program for host in self.nodes if isinstance(host.program, Node)]
        return {
            node.node_id: NodeLogs(node.node_id, node.broker.replicas)
            for node in nodes
            if node.broker is not None and node.broker.replicas.is_started
        }

    def unsettled(self) -> str | None:
        """Return what has not recovered: leadership, replication, brokers that do not serve; None if all has."""
        replicas = self.replicas
        if len(replicas) < len(self.nodes):
            return f"only nodes {sorted(replicas)} run"
        active = [node_id for node_id, replica in replicas.items() if replica.is_active_controller]
        if len(active) != 1:
            return f"controllers {active} are active"
        image = replicas[active[0]].image
        problem = self._unequal(replicas, replicas[active[0]]) or self._unregistered(image)
        if problem is None and self._data_clients is not None:
            problem = self._data_clients.unsettled(image, self.brokers_with_logs)
        return problem

    def _unequal(self, replicas: Mapping[int, ReplicaView], leader: ReplicaView) -> str | None:
        for node_id, replica in replicas.items():
            if replica.log.end_offset != leader.log.end_offset:
                ends = f"ends at {replica.log.end_offset}, the leader's at {leader.log.end_offset}"
                return f"the log of node {node_id} {ends}"
            if not replica.image.has_same_content(leader.image):
                return f"the image of node {node_id} is not the leader's"
        return None

    def _unregistered(self, image: MetadataImage) -> str | None:
        registered = image.cluster.brokers
        fenced = [each for each in self._broker_ids if each not in registered or registered[each].fenced]
        if fenced:
            return f"brokers {fenced} cannot get unfenced"
        return next((problem for each in self.releases if (problem := self._misregistered(each, image))), None)

    def _may_lose(self, node_id: int) -> bool:
        """Return whether the quorum survives the loss of a disk.

        In the newest leader's view every voter has its current disk, and enough voters remain.
        """
        leaders = [replica for replica in self.replicas.values() if replica.is_active_controller]
        if not leaders:
            return False
        raft = max(leaders, key=lambda replica: replica.raft.leader.epoch).raft
        if raft.high_watermark is None or raft.kraft_version == 0:
            return False
        voters = raft.voters
        committed = raft.voters_before(raft.high_watermark)[1]
        if committed is None or {each.voter_id for each in committed.voters} != voters.keys():
            return False
        are_whole = all(voter.key.directory_id == self.directory_ids[each] for each, voter in voters.items())
        return are_whole and (node_id not in voters or len(voters) >= _VOTERS_MIN)

    def _known(self) -> MetadataImage | None:
        """Return the image that a scripted broker has fetched: that of the first running controller."""
        running = (host.program for host in self.controllers)
        program = next((program for program in running if program is not None), None)
        return None if program is None else cast("ReplicaView", program).image

    def _format(self, node_id: int, voters: dict[int, bytes] | None) -> None:
        disk, directory_id = self._controllers[node_id].disk, self.directory_ids[node_id]
        format_controller_disk(
            disk,
            LOG_DIR,
            self._scenario,
            node_id,
            directory_id,
            release=self.releases[node_id],
            now_ms=_EPOCH_MS,
            voters=voters,
        )

    def _add_controller(self, node_id: int) -> Host:
        endpoint = self._scenario.controllers[node_id]
        listeners = {_CONTROLLER_LISTENER: endpoint}
        if node_id in self._scenario.brokers:
            listeners[_BROKER_LISTENER] = self._scenario.brokers[node_id]
        return self._world.add_host(
            endpoint.host, listeners, partial(self._make_node, node_id), skew_ms=self._skew_ms()
        )

    def _add_broker_node(self, node_id: int) -> Host:
        endpoint = self._scenario.broker_nodes[node_id]
        return self._world.add_host(
            endpoint.host, {_BROKER_LISTENER: endpoint}, partial(self._make_node, node_id), skew_ms=self._skew_ms()
        )

    def _skew_ms(self) -> int:
        return _EPOCH_MS + self._chance.randrange(0, self._scenario.skew_ms_max)

    def _make_node(self, node_id: int, host: Host) -> Program:
        return Node(self._config(node_id), host.disk, self._chance_of(host), host.clock.now_ms)

    def _chance_of(self, host: Host) -> Chance:
        return self._world.chance(f"{host.name}, start {host.starts}")

    def _config(self, node_id: int) -> NodeConfig:
        scenario = self._scenario
        is_dynamic, release = scenario.has_dynamic_voters, self.releases[node_id]
        is_controller = node_id in scenario.controllers
        roles = [CONTROLLER] * is_controller + [BROKER] * (node_id in scenario.brokers)
        return NodeConfig(
            release=release,
            node_id=node_id,
            process_roles=frozenset(roles),
            listeners=tuple(self._listener(node_id, role) for role in roles),
            controller_listener_names=(_CONTROLLER_LISTENER,),
            quorum_voters=None if is_dynamic else scenario.controllers,
            quorum_bootstrap_servers=tuple(scenario.controllers.values()) if is_dynamic else (),
            quorum_auto_join=is_controller
            and scenario.joins_itself
            and "controller.quorum.auto.join.enable" in definitions(release),
            log_dirs=self._log_dirs_of(node_id) if BROKER in roles else (LOG_DIR,),
            metadata_log_dir=LOG_DIR,
            metadata_log_segment_bytes=scenario.segment_bytes,
            metadata_max_retention_bytes=scenario.segment_bytes,
            metadata_log_max_record_bytes_between_snapshots=scenario.snapshot_bytes,
            snapshot_piece_bytes=self._snapshot_piece_bytes,
            broker_session_timeout_ms=3000,
            broker_heartbeat_interval_ms=500,
            authorizer_class_name=_AUTHORIZER,
            super_users=_SUPER_USERS,
            downgrade_enable=scenario.roll is None or node_id not in scenario.roll.unlowerable,
            properties=self._properties,
        )

    @property
    def _snapshot_piece_bytes(self) -> int:
        """Many pieces, so that crashes fall between them; of a large image some fifty: a partition has 100 bytes."""
        cluster = self._scenario.rehearsed
        return max(self._scenario.snapshot_bytes // 10, 2 * cluster.image.topics.partition_count if cluster else 0)

    @property
    def _properties(self) -> Mapping[str, str]:
        data = self._scenario.data
        return {} if data is None else {**_PROPERTIES, **data.coordinator_properties(len(self._scenario.brokers))}

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The log directories of every broker."""
        data = self._scenario.data
        return (LOG_DIR, _SECOND_LOG_DIR)[: 1 if data is None else data.log_dir_count]

    def _log_dirs_of(self, node_id: int) -> tuple[str, ...]:
        rehearsed = self._scenario.rehearsed
        if rehearsed is None:
            return self.log_dirs
        count = len(rehearsed.node(node_id).directory_ids)
        return (LOG_DIR, *(f"{_SECOND_LOG_DIR}-{number}" for number in range(2, count + 1)))

    def _listener(self, node_id: int, role: str) -> Listener:
        is_controller = role == CONTROLLER
        endpoint = (self._scenario.controllers if is_controller else self._scenario.brokers)[node_id]
        return Listener(
            name=_CONTROLLER_LISTENER if is_controller else _BROKER_LISTENER,
            security_protocol="PLAINTEXT",
            endpoint=endpoint,
            advertised=endpoint,
            is_controller=is_controller,
        )

    def _add_scripted_broker(self, broker_id: int, release: Release | None = None) -> Host:
        def make(host: Host) -> Program:
            return ScriptedBroker(
                broker_id,
                self._controller_endpoints,
                self._chance_of(host),
                cluster_id=CLUSTER_ID,
                release=release or self._scenario.scripted_release,
                known=self._known,
            )

        return self._world.add_host(f"broker-{broker_id}", {}, make)

    def _add_ghost(self) -> Host:
        return self._add_scripted_broker(GHOST_ID, min(self.releases.values(), key=_age))

    def _add_operator(self) -> Host:
        def make(host: Host) -> Program:
            return FeatureAdministrator(self._controller_endpoints, self._chance_of(host))

        return self._world.add_host("operator", {}, make)

    def _add_administrator(self, number: int) -> Host:
        """Add an administrator; every second one sends its requests to brokers, where there are broker nodes."""
        asks_brokers = number % 2 == 0 and bool(self._scenario.brokers)
        servers = list(self._scenario.brokers.values()) if asks_brokers else self._controller_endpoints

        def make(host: Host) -> Program:
            return Administrator(
                host.name,
                servers,
                self._chance_of(host),
                self._history,
                asks_brokers=asks_brokers,
                broker_ids=self._broker_ids,
                interval_ms=150 if self._scenario.data is None else 800,
                acl_host=self._acl_host,
            )

        return self._world.add_host(f"admin-{number}", {}, make)

    def _add_quorum_administrator(self) -> Host:
        def make(host: Host) -> Program:
            return QuorumAdministrator(
                self._scenario.controllers, self.directory_ids, self._chance_of(host), cluster_id=CLUSTER_ID
            )

        return self._world.add_host("quorum-admin", {}, make)

    @property
    def _acl_host(self) -> str:
        """Return the host of new ACLs: an address range has no meaning below 4.4-IV1, so a lowering has losses.

        In a rehearsal only losses of the cluster itself are reported.
        """
        is_plain = self._scenario.roll is None or self._scenario.rehearsed is not None
        return "*" if is_plain else "10.0.0.0/8"

    @property
    def _controller_endpoints(self) -> Sequence[Endpoint]:
        return list(self._scenario.controllers.values())


def _age(release: Release) -> int:
    return RELEASES.index(release.word)
