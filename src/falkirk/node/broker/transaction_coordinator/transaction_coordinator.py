"""The transaction coordinator of a broker (Kafka's TransactionCoordinator and TransactionStateManager)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.coordinator.transactions.context import TransactionContext
from falkirk.coordinator.transactions.transaction_coordinator_shard import TransactionCoordinatorShard
from falkirk.coordinator.transactions.transaction_loader import TransactionLoader
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.node.broker.coordinator_runtime.coordinator_runtime import CoordinatorRuntime
from falkirk.node.broker.transaction_coordinator.marker_sender import MarkerSender
from falkirk.node.broker.transaction_coordinator.transaction_settings import transaction_settings
from falkirk.protocol.compression import Compression
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ListTransactionsResponse
from falkirk.versions.release import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.coordinator.runtime.outcome import Token
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.coordinator.transactions.transaction_metadata import TransactionMetadata
    from falkirk.metadata.image.metadata_delta import MetadataDelta
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.broker.coordinator_runtime.hosted_shard import HostedShard
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.broker.transaction_coordinator.marker_writer import MarkerWriter
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import Step
    from falkirk.protocol.topic_partition import TopicPartition

    _Shard: TypeAlias = HostedShard[TransactionCoordinatorShard]


TRANSACTIONS_AT_ONCE: Final = 500
"""How many transactions of a loaded partition get their markers in one step: some milliseconds."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TransactionCoordinator(CoordinatorRuntime[TransactionCoordinatorShard]):
    """`take_producer_id` returns an unused id; None while the broker has none."""

    def __init__(
        self,
        step: Step,
        replicas: ReplicaManager,
        effects: Callable[[Effect], None],
        *,
        outbound: OutboundConnections,
        writer: MarkerWriter,
        take_producer_id: Callable[[], int | None],
        request_timeout_ms: int,
    ) -> None:
        config = step.config
        self.settings = transaction_settings(config.properties, config.release)
        self._take_producer_id = take_producer_id
        super().__init__(
            step,
            replicas,
            effects,
            name="transaction-coordinator",
            topic=TRANSACTION_STATE,
            partitions_key="transaction.state.log.num.partitions",
            compression=Compression.NONE,
            commit_timeout_ms=request_timeout_ms,
        )
        self.sender = MarkerSender(replicas.context, outbound, writer, request_timeout_ms)
        self.apply_image(EMPTY)

    def on_metadata(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """Follow the image, and look for the leaders of partitions that wait for markers."""
        super().on_metadata(delta, image)
        if delta.topics is not None or delta.cluster is not None:
            self.sender.metadata_changed()

    def complete(self) -> None:
        """Append what the step has decided, send markers, and append what follows from those that are written."""
        super().complete()
        self.sender.complete()
        super().complete()

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        times = (super().next_wakeup_ms, self.sender.next_wakeup_ms)
        return min((time for time in times if time is not None), default=None)

    def list_transactions(self, done: Callable[[Sequence[TransactionMetadata] | ErrorCode], None]) -> None:
        """Pass `done` the states of all ids of all shards; COORDINATOR_LOAD_IN_PROGRESS while one loads."""
        found: list[TransactionMetadata] = []

        def operation(shard: TransactionCoordinatorShard, token: Token) -> Outcome:
            found.extend(shard.transactions())
            return Outcome(replies=[Reply(token, ListTransactionsResponse())])

        self.schedule_all(operation, lambda parts: done(parts if isinstance(parts, ErrorCode) else found))

    # --- Shards

    def make_shard(self, leader_epoch: int) -> TransactionCoordinatorShard:
        """Return an empty shard, whose markers have this leader epoch; a later one of the same leader fences it not."""
        return TransactionCoordinatorShard(
            TransactionContext(
                release=self._step.config.release,
                coordinator_epoch=leader_epoch,
                take_producer_id=self._take_producer_id,
                now_ms=self._step.now_ms,
                settings=self.settings,
                feature_levels=self._feature_levels,
                is_tolerant=self._step.config.tolerant_group_coordinator,
            )
        )

    def make_loader(self, shard: TransactionCoordinatorShard) -> TransactionLoader:
        """Return what reads a log into an empty shard."""
        return TransactionLoader(shard)

    def enter(self, shard: TransactionCoordinatorShard) -> None:
        """Bring a shard's context up to the time of the step and the finalized levels."""
        shard.context.now_ms = self._step.now_ms
        shard.context.feature_levels = self._feature_levels

    def apply_image(self, image: MetadataImage) -> None:
        """Keep the finalized levels."""
        self._feature_levels = image.features.levels()

    def send_markers(
        self, host: _Shard, shard: TransactionCoordinatorShard, markers: Sequence[TransactionMarkers]
    ) -> None:
        """Send markers whose decision is committed, as long as the shard is that of the partition."""

        def is_wanted() -> bool:
            return host.shard is shard

        def send(some: Sequence[TransactionMarkers]) -> None:
            for each in some:
                self.sender.send(each, is_wanted, partial(self._markers_written, host, each))

        def slices() -> Slices:
            for start in range(TRANSACTIONS_AT_ONCE, len(markers), TRANSACTIONS_AT_ONCE):
                send(markers[start : start + TRANSACTIONS_AT_ONCE])
                yield

        send(markers[:TRANSACTIONS_AT_ONCE])
        if len(markers) > TRANSACTIONS_AT_ONCE:
            self.start_work("transaction markers", slices())

    def _markers_written(
        self, host: _Shard, markers: TransactionMarkers, results: Mapping[TopicPartition, ErrorCode]
    ) -> None:
        host.run(lambda shard: shard.markers_written(markers, results))
        self._touch(host)
