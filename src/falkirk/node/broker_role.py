"""The broker's side of a node: it keeps registered, and passes on what only the active controller may answer."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.node.active_controller_channel import ActiveControllerChannel
from falkirk.node.broker_configs import static_value
from falkirk.node.broker_lifecycle import BrokerLifecycle, BrokerState
from falkirk.node.clean_shutdowns import UNKNOWN_EPOCH, read_broker_epoch, take_clean_log_dirs, write_broker_epoch
from falkirk.node.config_definitions import definitions
from falkirk.node.errors import FatalError
from falkirk.node.fetch_sessions import FetchSessions
from falkirk.node.forwarding import Forwarding
from falkirk.node.group_coordinator.group_coordinator import GroupCoordinator
from falkirk.node.producer_ids import ProducerIds
from falkirk.node.replication.context import ReplicationContext
from falkirk.node.replication.cordoned_log_dirs import cordoned_log_dirs
from falkirk.node.replication.open_logs import open_logs
from falkirk.node.replication.replica_log_dirs import ReplicaLogDirs
from falkirk.node.replication.replica_manager import ReplicaManager
from falkirk.node.topic_creation import TopicCreation
from falkirk.protocol.uuid import random_uuid
from falkirk.storage.log.log_manager import DuplicateLogError, LogManager
from falkirk.versions.negotiation import broker_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.client_connections import ClientConnections
    from falkirk.node.config import NodeConfig
    from falkirk.node.effects import Effect
    from falkirk.node.log_directories import LogDirectories
    from falkirk.node.node_state import NodeState
    from falkirk.node.peers import Peers
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk
    from falkirk.versions.supported_range import SupportedRange


class BrokerRole:
    """`own_ranges`: what the broker's listeners would offer, whatever the controllers can do.

    Raises OSError if the directory of the metadata log fails; other directories may.
    """

    def __init__(
        self,
        state: NodeState,
        *,
        own_ranges: Mapping[int, SupportedRange],
        peers: Peers,
        clients: ClientConnections,
        directories: LogDirectories,
        disk: Disk,
        random: Chance,
        effects: Callable[[Effect], None],
    ) -> None:
        self.ranges = own_ranges
        self._state = state
        self._own_ranges = own_ranges
        self._clients = clients
        self._disk = disk
        self._channel = ActiveControllerChannel(state, peers, "forwarding")
        self._controller_ranges: Mapping[int, SupportedRange] | None = None
        # What was offered with the last controller that was connected.
        self._last_ranges = own_ranges
        self.forwarding = Forwarding(state, self._channel, clients)
        slots = _setting(state.config, "max.incremental.fetch.session.cache.slots")
        state.fetch_sessions = FetchSessions(slots, random)
        state.fetch_bytes_max = _setting(state.config, "fetch.max.bytes")
        state.producer_ids = ProducerIds(
            state,
            ActiveControllerChannel(state, peers, "producer-ids"),
            broker_epoch=lambda: self.broker_epoch,
            effects=effects,
        )
        state.topic_creation = TopicCreation(state, self._channel, effects)
        self._effects = effects
        ids, log_dirs = directories.directory_ids, state.config.log_dirs
        online = {log_dir: ids[log_dir] for log_dir in log_dirs if log_dir in ids}
        previous_broker_epoch, failed = read_broker_epoch(disk, online)
        self._lifecycle = BrokerLifecycle(
            state,
            ActiveControllerChannel(state, peers, "heartbeat"),
            incarnation_id=random_uuid(random),
            log_dirs=list(online.values()),
            cordoned_log_dirs=partial(_cordoned_directory_ids, state, online),
            # What was in a directory that cannot be looked at now nobody knows.
            previous_broker_epoch=UNKNOWN_EPOCH if directories.offline else previous_broker_epoch,
            log_dir_failure_timeout_ms=_log_dir_failure_timeout_ms(state.config),
            random=random,
            effects=effects,
        )
        self._log_dirs = ReplicaLogDirs(
            online,
            [log_dir for log_dir in log_dirs if log_dir not in online],
            effects=effects,
            failed=self._lifecycle.fail_log_dir,
        )
        self.replicas = ReplicaManager(
            ReplicationContext(state, effects),
            peers,
            self._log_dirs,
        )
        state.replicas = self.replicas
        self.groups = state.groups = GroupCoordinator(state, self.replicas, effects)
        # While and after they are loaded.
        self._logs: LogManager | None = None
        self._take_offline(failed)

    def tick(self) -> None:
        """Do what is due. Raises FatalError as BrokerLifecycle and ReplicaManager do."""
        if self._is_loading:
            self._load_logs()
        self._lifecycle.tick()
        self.replicas.context.broker_epoch = self.broker_epoch
        self.replicas.tick()
        self.groups.tick()
        self.complete()
        self._channel.keep_open()
        if self._channel.ranges is not self._controller_ranges:
            self._controller_ranges = self._channel.ranges
            self._change_ranges()
        self.forwarding.tick()

    def complete(self) -> None:
        """Write what the group coordinator has decided in this step, and answer what has become answerable."""
        self.groups.complete()
        self.replicas.complete()

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Take over a new image: replicas first, whose logs the group coordinator reads and writes."""
        self.replicas.on_metadata(delta, image)
        self.groups.on_metadata(delta, image)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        if self._is_loading:
            return self._state.now_ms
        times = (
            self._lifecycle.next_wakeup_ms,
            self.forwarding.next_wakeup_ms,
            self.replicas.next_wakeup_ms,
            self.groups.next_wakeup_ms,
        )
        return min((time for time in times if time is not None), default=None)

    @property
    def next_deadline_ms(self) -> int | None:
        """When there is something to do because of what was answered, or not yet, in a step that did nothing else."""
        return min(
            (time for time in (self.replicas.next_deadline_ms, self.groups.next_wakeup_ms) if time is not None),
            default=None,
        )

    @property
    def state(self) -> BrokerState:
        """How far the broker is in its life."""
        return self._lifecycle.state

    @property
    def broker_epoch(self) -> int:
        """The epoch of its registration; -1 before that."""
        return self._lifecycle.broker_epoch

    @property
    def failure(self) -> str | None:
        """Why the broker must stop, though nobody has asked for it."""
        return self._lifecycle.failure

    def begin_shutdown(self) -> None:
        """Begin the controlled shutdown."""
        self._lifecycle.begin_shutdown()
        self.replicas.context.is_shutting_down = True

    def end_shutdown(self) -> None:
        """Close the logs and, last of all, leave a word that the broker stopped in order."""
        self.groups.close()
        if self.replicas.is_started:
            self.replicas.shutdown()
            self._take_offline(write_broker_epoch(self._disk, self._log_dirs.online, self.broker_epoch))

    def _change_ranges(self) -> None:
        """Offer what the active controller can answer.

        While none is connected all is offered, as in Kafka, and nobody loses a connection for it: most often the next
        controller is like the last one, and who was told what that can answer was told right.
        """
        ranges = broker_ranges(self._own_ranges, self._controller_ranges, self._state.config.release)
        # The same mapping as before if it is: answers are kept by it.
        self.ranges = next((known for known in (self.ranges, self._last_ranges) if known == ranges), ranges)
        is_known = self._controller_ranges is not None
        if is_known:
            self._last_ranges = self.ranges
        self._clients.change_ranges(self.ranges, close_others=is_known)

    @property
    def _is_loading(self) -> bool:
        return self.state is BrokerState.RECOVERY and not self.replicas.is_started

    def _load_logs(self) -> None:
        """Load some of the logs. The heartbeats in between ask for no leaderships."""
        if self._logs is None:
            clean, failed = take_clean_log_dirs(self._disk, self._log_dirs.online)
            self._take_offline(failed)
            self._logs = open_logs(self._disk, self.replicas.context, self._log_dirs.online, clean)
        try:
            if not self._logs.load_some():
                return
        except DuplicateLogError as error:
            raise FatalError(str(error)) from error
        self.replicas.start(self._logs)
        self.groups.start(self.replicas.image)
        self._lifecycle.begin_unfencing()

    def _take_offline(self, failed: Mapping[str, OSError]) -> None:
        """Use these directories no longer; without that of the metadata log the node cannot go on (raises OSError)."""
        for log_dir, error in failed.items():
            if log_dir == self._state.config.metadata_log_dir:
                raise error
            self._log_dirs.fail(log_dir, error)


def _cordoned_directory_ids(state: NodeState, directory_ids: Mapping[str, bytes]) -> tuple[bytes, ...]:
    cordoned = cordoned_log_dirs(state.config, state.image.configs)
    return tuple(directory_id for path, directory_id in directory_ids.items() if path in cordoned)


def _log_dir_failure_timeout_ms(config: NodeConfig) -> int | None:
    """Releases before 3.8 wait for ever."""
    key = "log.dir.failure.timeout.ms"
    return _setting(config, key) if key in definitions(config.release) else None


def _setting(config: NodeConfig, name: str) -> int:
    value = static_value(config.properties, config.release, name)
    assert isinstance(value, int)
    return value
