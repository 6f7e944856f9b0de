"""The broker role: it stays registered, hosts partitions and coordinators, and forwards to the active controller."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from falkirk.node.broker.auto_topic_creation import AutoTopicCreation
from falkirk.node.broker.broker_lifecycle import BrokerLifecycle, BrokerState
from falkirk.node.broker.broker_services import BrokerServices
from falkirk.node.broker.clean_shutdowns import (
    UNKNOWN_EPOCH,
    read_broker_epoch,
    remove_clean_shutdown_files,
    write_broker_epoch,
)
from falkirk.node.broker.fetch_sessions import FetchSessions
from falkirk.node.broker.forwarding import Forwarding
from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
from falkirk.node.broker.producer_ids import ProducerIds
from falkirk.node.broker.replication.context import ReplicationContext
from falkirk.node.broker.replication.cordoned_log_dirs import cordoned_log_dirs
from falkirk.node.broker.replication.loading_facts import loading_facts
from falkirk.node.broker.replication.open_logs import open_logs
from falkirk.node.broker.replication.replica_log_dirs import ReplicaLogDirs
from falkirk.node.broker.replication.replica_manager import ReplicaManager
from falkirk.node.broker.transaction_coordinator.marker_writer import MarkerWriter
from falkirk.node.broker.transaction_coordinator.transaction_coordinator import TransactionCoordinator
from falkirk.node.broker.transaction_verification.transaction_verification import TransactionVerification
from falkirk.node.config.static_configs import static_value
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError
from falkirk.protocol.uuid import random_uuid
from falkirk.storage.log.log_manager import DuplicateLogError, LogManager
from falkirk.versions.configs.server import definitions
from falkirk.versions.negotiation import broker_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.connections.client_connections import ClientConnections
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.startup.log_directories import LogDirectories
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.storage.disk import Disk
    from falkirk.versions.supported_range import SupportedRange

LOADING_FACT_LOGS = 1_000
"""After how many loaded logs a starting broker reports how far it is."""


class BrokerRole:
    """`own_ranges`: what the broker's listeners would offer, whatever the controllers support.

    Raises OSError if the directory of the metadata log fails; other directories may.
    """

    def __init__(
        self,
        step: Step,
        metadata: CommittedMetadata,
        *,
        own_ranges: Mapping[int, SupportedRange],
        open_channel: Callable[[str], ActiveControllerChannel],
        outbound: OutboundConnections,
        clients: ClientConnections,
        directories: LogDirectories,
        disk: Disk,
        effects: Callable[[Effect], None],
    ) -> None:
        config = step.config
        self.ranges = own_ranges
        self._step = step
        self._metadata = metadata
        self._own_ranges = own_ranges
        self._clients = clients
        self._disk = disk
        self._channel = open_channel("forwarding")
        self._controller_ranges: Mapping[int, SupportedRange] | None = None
        # What was offered with the last connected controller.
        self._last_ranges = own_ranges
        self.forwarding = Forwarding(step, metadata, self._channel, clients, effects)
        ids, log_dirs = directories.directory_ids, config.log_dirs
        online = {log_dir: ids[log_dir] for log_dir in log_dirs if log_dir in ids}
        previous_broker_epoch, failed = read_broker_epoch(disk, online)
        self._lifecycle = BrokerLifecycle(
            step,
            metadata,
            open_channel("heartbeat"),
            applied_offset=self._applied_offset,
            incarnation_id=random_uuid(step.random),
            log_dirs=list(online.values()),
            cordoned_log_dirs=partial(_cordoned_directory_ids, config, metadata, online),
            # An offline directory may have had another epoch.
            previous_broker_epoch=UNKNOWN_EPOCH if directories.offline else previous_broker_epoch,
            log_dir_failure_timeout_ms=_log_dir_failure_timeout_ms(config),
            effects=effects,
        )
        self._log_dirs = ReplicaLogDirs(
            online,
            [log_dir for log_dir in log_dirs if log_dir not in online],
            effects=effects,
            failed=self._lifecycle.fail_log_dir,
        )
        self.replicas = ReplicaManager(ReplicationContext(step, effects), outbound, self._log_dirs, open_channel)
        self.groups = GroupCoordinator(step, self.replicas, effects)
        self.services = self._services(open_channel, outbound, effects)
        self.transactions = self.services.transactions
        self._verification = self.services.transaction_verification
        # Set when loading begins.
        self._logs: LogManager | None = None
        # Set once they are loaded.
        self._loading_facts: Iterator[Fact | None] | None = None
        # How many logs were open when that was reported last.
        self._reported_logs = 0
        # The end offset of the image that must be applied before the broker asks to be unfenced; None: it has asked.
        self._unfence_at: int | None = None
        # It was fenced while it ran, and had changes to apply: until the image has it unfenced.
        self._is_damped = False
        self._fail_log_dirs(failed)

    def _services(
        self,
        open_channel: Callable[[str], ActiveControllerChannel],
        outbound: OutboundConnections,
        effects: Callable[[Effect], None],
    ) -> BrokerServices:
        step, config = self._step, self._step.config
        producer_ids = ProducerIds(
            step, open_channel("producer-ids"), broker_epoch=lambda: self.broker_epoch, effects=effects
        )
        request_timeout_ms = _setting(config, "request.timeout.ms")
        marker_writer = MarkerWriter(self.replicas, self.groups, request_timeout_ms)
        transactions = TransactionCoordinator(
            step,
            self.replicas,
            effects,
            outbound=outbound,
            writer=marker_writer,
            take_producer_id=producer_ids.next_id,
            request_timeout_ms=request_timeout_ms,
        )
        slots = _setting(config, "max.incremental.fetch.session.cache.slots")
        return BrokerServices(
            replicas=self.replicas,
            groups=self.groups,
            transactions=transactions,
            marker_writer=marker_writer,
            transaction_verification=TransactionVerification(self.replicas, outbound),
            fetch_sessions=FetchSessions(slots, step.random),
            producer_ids=producer_ids,
            topic_creation=AutoTopicCreation(step, self._channel, effects),
            fetch_bytes_max=_setting(config, "fetch.max.bytes"),
        )

    def tick(self) -> None:
        """Do the periodic work. Raises FatalError as BrokerLifecycle and ReplicaManager do."""
        if self._is_loading:
            self._load_logs()
        self._damp()
        if self._unfence_at is not None and self._applied_offset() >= self._unfence_at:
            self._unfence_at = None
            self._lifecycle.begin_unfencing()
        self._lifecycle.tick()
        self.replicas.context.broker_epoch = self.broker_epoch
        self.replicas.tick()
        self.groups.tick()
        self._verification.tick()
        self.transactions.tick()
        self.complete()
        self._channel.keep_open()
        if self._channel.ranges is not self._controller_ranges:
            self._controller_ranges = self._channel.ranges
            self._change_ranges()
        self.forwarding.tick()

    def complete(self) -> None:
        """Append what the coordinators have decided in this step, then complete waiting requests."""
        self.groups.complete()
        self.transactions.complete()
        self.replicas.complete()

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Apply a new image: replicas first, whose logs the coordinators read and write."""
        self.replicas.on_metadata(delta, image)
        self.groups.on_metadata(delta, image)
        self.transactions.on_metadata(delta, image)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        if self._is_loading:
            return self._step.now_ms
        times = (
            self._lifecycle.next_wakeup_ms,
            self.forwarding.next_wakeup_ms,
            self.replicas.next_wakeup_ms,
            self.groups.next_wakeup_ms,
            self._verification.next_wakeup_ms,
            self.transactions.next_wakeup_ms,
        )
        return min((time for time in times if time is not None), default=None)

    @property
    def next_deadline_ms(self) -> int | None:
        """The earliest deadline of a waiting request or a coordinator's timer, for steps without periodic work."""
        times = (self.replicas.next_deadline_ms, self.groups.next_wakeup_ms, self.transactions.next_wakeup_ms)
        return min((time for time in times if time is not None), default=None)

    @property
    def state(self) -> BrokerState:
        """The state of its lifecycle."""
        return self._lifecycle.state

    @property
    def broker_epoch(self) -> int:
        """The epoch of its registration; -1 before that."""
        return self._lifecycle.broker_epoch

    @property
    def failure(self) -> str | None:
        """Why the broker must stop by itself; None if it must not."""
        return self._lifecycle.failure

    def begin_shutdown(self) -> None:
        """Begin the controlled shutdown."""
        self._lifecycle.begin_shutdown()
        self.replicas.context.is_shutting_down = True

    def end_shutdown(self) -> Slices:
        """Close the logs over several steps and, last of all, write the clean shutdown files."""
        self.transactions.close()
        self.groups.close()
        if self.replicas.is_started:
            yield from self.replicas.shutdown_slices()
            self._fail_log_dirs(write_broker_epoch(self._disk, self._log_dirs.online, self.broker_epoch))

    def _change_ranges(self) -> None:
        """Offer the versions that the active controller supports.

        While none is connected all are offered, as in Kafka, and no client is disconnected for it: most often the next
        controller supports the same versions as the last.
        """
        ranges = broker_ranges(self._own_ranges, self._controller_ranges, self._step.config.release)
        # Reuse an equal mapping: known answers are kept by its identity.
        if ranges != self.ranges:
            self.ranges = self._last_ranges if ranges == self._last_ranges else ranges
        is_known = self._controller_ranges is not None
        if is_known:
            self._last_ranges = self.ranges
        self._clients.change_ranges(self.ranges, close_others=is_known)

    @property
    def _is_loading(self) -> bool:
        return self.state is BrokerState.RECOVERY and not self.replicas.is_started

    def _load_logs(self) -> None:
        """Load some of the logs. Until all are loaded, and the image is applied, heartbeats ask to stay fenced."""
        if self._logs is None:
            clean, failed = remove_clean_shutdown_files(self._disk, self._log_dirs.online)
            self._fail_log_dirs(failed)
            self._logs = open_logs(self._disk, self.replicas.context, self._log_dirs.online, clean)
        if self._loading_facts is None:
            try:
                if not self._logs.load_some():
                    self._report_loading(self._logs)
                    return
            except DuplicateLogError as error:
                raise FatalError(str(error)) from error
            node_id = self._step.config.node_id
            self._loading_facts = loading_facts(self._logs, self.replicas.image, node_id, self._log_dirs.online)
        for fact in self._loading_facts:
            if fact is None:
                return
            self.replicas.context.effects(fact)
        self.replicas.start(self._logs)
        self.groups.start(self.replicas.image)
        self.transactions.start(self.replicas.image)
        self._unfence_at = self.replicas.image.provenance.end_offset

    def _damp(self) -> None:
        """Stay fenced, once fenced, until what the image wanted then is applied.

        A broker that its disk keeps busy would else get leaderships, which need more files, as soon as its next
        heartbeat is in time. Differs from Kafka, whose heartbeats never ask for that while a broker runs.
        """
        if self.state is not BrokerState.RUNNING or not self._lifecycle.is_fenced:
            self._is_damped = False
        elif not self._is_damped and self.replicas.pending_offset is not None:
            self._is_damped = True
            self._unfence_at = self.replicas.image.provenance.end_offset
            self._lifecycle.defer_unfencing()

    def _report_loading(self, logs: LogManager) -> None:
        """Report how far the loading is, every LOADING_FACT_LOGS logs."""
        opened, left = logs.loading_progress
        if opened >= self._reported_logs + LOADING_FACT_LOGS:
            self._reported_logs = opened
            self.replicas.context.effects(Fact("info", "logs-loading", {"opened": opened, "left": left}))

    def _applied_offset(self) -> int:
        """Return the end offset of what is applied, files included: what heartbeats report (KIP-631)."""
        applied, pending = self._metadata.applied_offset, self.replicas.pending_offset
        return applied if pending is None else min(applied, pending)

    def _fail_log_dirs(self, failed: Mapping[str, OSError]) -> None:
        """Take failed directories offline. Raises OSError for the metadata log's, which the node cannot do without."""
        for log_dir, error in failed.items():
            if log_dir == self._step.config.metadata_log_dir:
                raise error
            self._log_dirs.fail(log_dir, error)


def _cordoned_directory_ids(
    config: NodeConfig, metadata: CommittedMetadata, directory_ids: Mapping[str, bytes]
) -> tuple[bytes, ...]:
    cordoned = cordoned_log_dirs(config, metadata.image.configs)
    return tuple(directory_id for path, directory_id in directory_ids.items() if path in cordoned)


def _log_dir_failure_timeout_ms(config: NodeConfig) -> int | None:
    """Return the timeout; None before 3.8, which has no limit."""
    key = "log.dir.failure.timeout.ms"
    return _setting(config, key) if key in definitions(config.release) else None


def _setting(config: NodeConfig, name: str) -> int:
    value = static_value(config.properties, config.release, name)
    assert isinstance(value, int)
    return value
