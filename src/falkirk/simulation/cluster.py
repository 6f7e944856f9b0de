"""The cluster of a run: controllers on hosts of their own, scripted brokers, administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from falkirk.node.config import CONTROLLER, Listener, NodeConfig
from falkirk.node.events import ShutdownRequested
from falkirk.node.node import Node
from falkirk.simulation.formatted_disk import format_disk
from falkirk.simulation.scenario import CLUSTER_ID
from falkirk.simulation.workload.administrator import Administrator
from falkirk.simulation.workload.scripted_broker import ScriptedBroker

if TYPE_CHECKING:
    from falkirk.simulation.host import Host, Program
    from falkirk.simulation.replica_view import ReplicaView
    from falkirk.simulation.scenario import Scenario
    from falkirk.simulation.workload.history import History
    from falkirk.simulation.world import World

LISTENER: Final = "CONTROLLER"
LOG_DIR: Final = "/data"
_FIRST_BROKER: Final = 11
_SKEW_MS_MAX: Final = 3_600_000
# Simulated time starts here, so that time stamps look like such.
_EPOCH_MS: Final = 1_700_000_000_000


class Cluster:
    """All hosts of a run."""

    def __init__(self, world: World, scenario: Scenario, history: History) -> None:
        self._world = world
        self._scenario = scenario
        self._history = history
        self._chance = world.chance("cluster")
        self.controllers = [self._add_controller(node_id) for node_id in scenario.controller_ids]
        self._clients = [self._add_broker(_FIRST_BROKER + number) for number in range(scenario.broker_count)]
        self._clients += [self._add_administrator(number + 1) for number in range(scenario.administrator_count)]

    def start(self) -> None:
        """Format the controllers' disks and start all hosts."""
        directory_ids = {node_id: self._chance.randbytes(16) for node_id in self._scenario.controller_ids}
        for node_id, host in zip(self._scenario.controller_ids, self.controllers, strict=True):
            format_disk(host.disk, LOG_DIR, self._scenario, node_id, directory_ids, now_ms=_EPOCH_MS)
        for host in [*self.controllers, *self._clients]:
            host.start()

    def shut_down(self, host: Host) -> None:
        """Ask a node to stop in an orderly way."""
        self._world.timeline.add(host.name, "is asked to stop")
        host.deliver(ShutdownRequested())

    def end_workload(self) -> None:
        """Let the administrators ask nothing more."""
        for host in self._clients:
            if isinstance(host.program, Administrator):
                host.program.is_over = True

    @property
    def replicas(self) -> dict[int, ReplicaView]:
        """The controllers that run, by node id."""
        running = [cast("ReplicaView", host.program) for host in self.controllers if host.program is not None]
        return {replica.node_id: replica for replica in running}

    def is_settled(self) -> bool:
        """Say whether all is as it should be without faults."""
        return self.unsettled() is None

    def unsettled(self) -> str | None:
        """Say what is not as it should be without faults: who leads, and that all have the same, is."""
        replicas = self.replicas
        if len(replicas) < len(self.controllers):
            return f"only controllers {sorted(replicas)} run"
        active = [node_id for node_id, replica in replicas.items() if replica.is_active_controller]
        if len(active) != 1:
            return f"controllers {active} are active"
        leader = replicas[active[0]]
        for node_id, replica in replicas.items():
            if replica.log.end_offset != leader.log.end_offset:
                ends = f"ends at {replica.log.end_offset}, the leader's at {leader.log.end_offset}"
                return f"the log of controller {node_id} {ends}"
            if not replica.image.has_same_content(leader.image):
                return f"the image of controller {node_id} is not the leader's"
        fenced = [
            host.name for host in self._clients if isinstance(host.program, ScriptedBroker) and host.program.is_fenced
        ]
        return f"{', '.join(fenced)} cannot get unfenced" if fenced else None

    def _add_controller(self, node_id: int) -> Host:
        endpoint = self._scenario.controllers[node_id]
        skew_ms = _EPOCH_MS + self._chance.randrange(0, _SKEW_MS_MAX)
        return self._world.add_host(
            endpoint.host, {LISTENER: endpoint}, lambda host: self._make_node(node_id, host), skew_ms=skew_ms
        )

    def _make_node(self, node_id: int, host: Host) -> Program:
        chance = self._world.chance(f"{host.name}, start {host.starts}")
        return Node(self._config(node_id), host.disk, chance, host.clock.now_ms)

    def _config(self, node_id: int) -> NodeConfig:
        scenario = self._scenario
        endpoint = scenario.controllers[node_id]
        is_dynamic = scenario.has_dynamic_voters
        return NodeConfig(
            release=scenario.releases[node_id - 1],
            node_id=node_id,
            process_roles=frozenset({CONTROLLER}),
            listeners=(
                Listener(
                    name=LISTENER,
                    security_protocol="PLAINTEXT",
                    endpoint=endpoint,
                    advertised=endpoint,
                    is_controller=True,
                ),
            ),
            controller_listener_names=(LISTENER,),
            quorum_voters=None if is_dynamic else scenario.controllers,
            quorum_bootstrap_servers=tuple(scenario.controllers.values()) if is_dynamic else (),
            log_dirs=(LOG_DIR,),
            metadata_log_dir=LOG_DIR,
            metadata_log_segment_bytes=scenario.segment_bytes,
            metadata_max_retention_bytes=scenario.segment_bytes,
            metadata_log_max_record_bytes_between_snapshots=scenario.snapshot_bytes,
            broker_session_timeout_ms=3000,
        )

    def _add_broker(self, broker_id: int) -> Host:
        def make(host: Host) -> Program:
            return ScriptedBroker(
                broker_id,
                list(self._scenario.controllers.values()),
                self._world.chance(f"{host.name}, start {host.starts}"),
                cluster_id=CLUSTER_ID,
                release=self._scenario.releases[0],
                rack=None,
            )

        return self._world.add_host(f"broker-{broker_id}", {}, make)

    def _add_administrator(self, number: int) -> Host:
        def make(host: Host) -> Program:
            chance = self._world.chance(f"{host.name}, start {host.starts}")
            controllers = list(self._scenario.controllers.values())
            return Administrator(host.name, controllers, chance, self._history, interval_ms=150)

        return self._world.add_host(f"admin-{number}", {}, make)
