"""What happens before the first records of a transaction are appended to a partition (KIP-890).

The transaction's coordinator is asked whether it knows that the partition takes part, or to add it. Until it has
answered, later requests of the same producer wait, so that its batches keep their order. Source: ReplicaManager,
handleProduceAppend and maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.transaction_verification.add_partitions_to_txn_manager import (
    AddPartitionsToTxnManager,
    PartitionsOfTransaction,
    SupportedOperation,
)
from falkirk.node.config.static_configs import static_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.storage.log.append import AppendRefusedError
from falkirk.storage.log.verification import UNVERIFIED, VERIFICATION_OFF
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.config.node_config import NodeConfig
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.protocol.topic_partition import TopicIdPartition, TopicPartition

ENABLED: Final = "transaction.partition.verification.enable"
_RETRY_BACKOFF: Final = "add.partitions.to.txn.retry.backoff.ms"
_RETRY_BACKOFF_MAX: Final = "add.partitions.to.txn.retry.backoff.max.ms"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`errors` of partitions whose records must not be appended, and the guards with which the others are."""

    errors: Mapping[TopicIdPartition, ErrorCode]
    guards: Mapping[TopicIdPartition, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionalAppend:
    """Records that are to be appended: the first sequence number for each partition. `done` is called once."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    sequences: Mapping[TopicIdPartition, int]
    operation: SupportedOperation
    done: "Callable[[Verdict], None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """An append whose coordinator is asked about the partitions in `requested`; until `give_up_ms` it may be busy."""

    append: TransactionalAppend
    errors: "dict[TopicIdPartition, ErrorCode]"
    guards: "dict[TopicIdPartition, int]"
    requested: Mapping[TopicPartition, TopicIdPartition]
    give_up_ms: int


class TransactionVerification:
    """One for each broker."""

    def __init__(self, replicas: ReplicaManager, outbound: OutboundConnections) -> None:
        context = replicas.context
        self._replicas = replicas
        self._context = context
        self._manager = AddPartitionsToTxnManager(
            context, outbound, timeout_ms=_setting(context.config, "request.timeout.ms")
        )
        knows_retries = _RETRY_BACKOFF in definitions(context.config.release)
        self._retry_backoff_ms = _setting(context.config, _RETRY_BACKOFF) if knows_retries else 0
        self._retry_backoff_max_ms = _setting(context.config, _RETRY_BACKOFF_MAX) if knows_retries else 0
        # Appends that wait behind one of the same producer, by producer id.
        self._behind: dict[int, list[TransactionalAppend]] = {}
        # When coordinators are asked again.
        self._retries: list[tuple[int, _Begun]] = []

    @property
    def is_enabled(self) -> bool:
        """transaction.partition.verification.enable, whose dynamic value wins over the static one."""
        config = self._context.config
        dynamic = self._context.image.configs.broker_values(config.node_id, ENABLED)
        if dynamic:
            return dynamic[0].strip().lower() == "true"
        return static_value(config.properties, config.release, ENABLED) is True

    def verify(self, append: TransactionalAppend) -> None:
        """Begin; `done` is called at once if all transactions are open already, or nothing is to be verified."""
        waiting = self._behind.get(append.producer_id)
        if waiting is not None:
            waiting.append(append)
            return
        if not self.is_enabled:
            append.done(Verdict({}, dict.fromkeys(append.sequences, VERIFICATION_OFF)))
            return
        errors, guards = self._guards(append)
        requested = {key.topic_partition: key for key, guard in guards.items() if guard != UNVERIFIED}
        if not requested:
            append.done(Verdict(errors, guards))
            return
        self._behind[append.producer_id] = []
        give_up_ms = self._context.now_ms + self._retry_backoff_max_ms
        self._ask(_Begun(append=append, errors=errors, guards=guards, requested=requested, give_up_ms=give_up_ms))

    def tick(self) -> None:
        """Ask coordinators again that were busy."""
        now_ms = self._context.now_ms
        due = [begun for at_ms, begun in self._retries if at_ms <= now_ms]
        self._retries = [(at_ms, begun) for at_ms, begun in self._retries if at_ms > now_ms]
        for begun in due:
            self._ask(begun)

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        return min((at_ms for at_ms, _ in self._retries), default=None)

    def _guards(
        self, append: TransactionalAppend
    ) -> tuple[dict[TopicIdPartition, ErrorCode], dict[TopicIdPartition, int]]:
        errors: dict[TopicIdPartition, ErrorCode] = {}
        guards: dict[TopicIdPartition, int] = {}
        for key, sequence in append.sequences.items():
            log = self._replicas.leader_log(key.topic_partition)
            if isinstance(log, ErrorCode):
                errors[key] = log
                continue
            try:
                guards[key] = log.begin_verification(
                    append.producer_id,
                    append.producer_epoch,
                    sequence,
                    self._context.now_ms,
                    adds_partitions=append.operation is SupportedOperation.ADD_PARTITION,
                )
            except AppendRefusedError as refused:
                errors[key] = refused.error_code
        return errors, guards

    def _ask(self, begun: _Begun) -> None:
        def verified(refused: Mapping[TopicPartition, ErrorCode]) -> None:
            self._verified(begun, refused)

        append = begun.append
        self._manager.add_or_verify(
            PartitionsOfTransaction(
                transactional_id=append.transactional_id,
                producer_id=append.producer_id,
                producer_epoch=append.producer_epoch,
                partitions=tuple(begun.requested),
                operation=append.operation,
                verified=verified,
            )
        )

    def _verified(self, begun: _Begun, refused: Mapping[TopicPartition, ErrorCode]) -> None:
        now_ms, append = self._context.now_ms, begun.append
        is_busy = ErrorCode.CONCURRENT_TRANSACTIONS in refused.values()
        if is_busy and append.operation is SupportedOperation.ADD_PARTITION and now_ms < begun.give_up_ms:
            # The last transaction's markers are on their way: the client need not hear of it.
            self._retries.append((now_ms + self._retry_backoff_ms, begun))
            return
        for partition, key in begun.requested.items():
            if partition in refused:
                begun.errors[key] = refused[partition]
        waiting = self._behind.pop(append.producer_id)
        append.done(Verdict(begun.errors, begun.guards))
        for each in waiting:
            self.verify(each)


def _setting(config: NodeConfig, name: str) -> int:
    value = static_value(config.properties, config.release, name)
    assert isinstance(value, int), "a number"
    return value
