"""Asks transaction coordinators whether partitions belong to open transactions, or to add them (KIP-890).

One request to a coordinator is in flight; what comes up meanwhile goes into the next one. Source:
AddPartitionsToTxnManager.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.node.broker.coordinator_runtime.coordinator_runtime import abs_hash
from falkirk.node.broker.replication.context import endpoint_of
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode, error_name, known_error
from falkirk.protocol.messages import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.topic_partition import TopicPartition, by_topic
from falkirk.versions.release import TRANSACTION_STATE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.node.broker.replication.context import ReplicationContext
    from falkirk.node.connections.outbound_connections import OutboundConnections
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages.add_partitions_to_txn_response import AddPartitionsToTxnResult
    from falkirk.protocol.schema import WireMessage

    Verified: TypeAlias = Callable[[Mapping[TopicPartition, ErrorCode]], None]

_PURPOSE: Final = "add-partitions-to-txn"


class SupportedOperation(Enum):
    """What the client of a Produce or TxnOffsetCommit request understands, by the request's version."""

    DEFAULT_ERROR = "default error"
    GENERIC_ERROR = "generic error"
    """TRANSACTION_ABORTABLE (KIP-890)."""
    ADD_PARTITION = "add partition"
    """Partitions are added to the transaction by the broker that leads them (transaction.version 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionsOfTransaction:
    """Partitions to verify or to add. `verified` gets the errors of those that are refused, once."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: "Sequence[TopicPartition]"
    operation: SupportedOperation
    verified: "Verified"

    def refuse(self, error: ErrorCode) -> None:
        """Refuse all partitions."""
        self.verified(dict.fromkeys(self.partitions, error))


@dataclass(slots=True)
class _Coordinator:
    """`waiting`: by transactional id."""

    waiting: dict[str, PartitionsOfTransaction] = field(default_factory=dict)
    is_pending: bool = False


class AddPartitionsToTxnManager:
    """`timeout_ms`: request.timeout.ms."""

    def __init__(self, context: ReplicationContext, outbound: OutboundConnections, *, timeout_ms: int) -> None:
        self._context = context
        self._outbound = outbound
        self._timeout_ms = timeout_ms
        self._coordinators: dict[Endpoint, _Coordinator] = {}

    def add_or_verify(self, wanted: PartitionsOfTransaction) -> None:
        """Ask the coordinator of the transactional id. COORDINATOR_NOT_AVAILABLE while there is none.

        Of two requests of one transactional id the older epoch is refused with INVALID_PRODUCER_EPOCH; of the same
        epoch the first one with NETWORK_EXCEPTION: its client is sending it again.
        """
        endpoint = self._coordinator_of(wanted.transactional_id)
        if endpoint is None:
            wanted.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        coordinator = self._coordinators.setdefault(endpoint, _Coordinator())
        known = coordinator.waiting.get(wanted.transactional_id)
        if known is not None and known.producer_epoch > wanted.producer_epoch:
            wanted.refuse(ErrorCode.INVALID_PRODUCER_EPOCH)
            return
        coordinator.waiting[wanted.transactional_id] = wanted
        if known is not None:
            is_older = known.producer_epoch < wanted.producer_epoch
            known.refuse(ErrorCode.INVALID_PRODUCER_EPOCH if is_older else ErrorCode.NETWORK_EXCEPTION)
        self._send(endpoint, coordinator)

    def _coordinator_of(self, transactional_id: str) -> Endpoint | None:
        topic = self._context.image.topics.topic(TRANSACTION_STATE)
        if topic is None:
            return None
        partition = topic.partition(abs_hash(transactional_id) % topic.partition_count)
        if partition is None or self._context.alive(partition.leader) is None:
            return None
        return endpoint_of(self._context, partition.leader)

    def _send(self, endpoint: Endpoint, coordinator: _Coordinator) -> None:
        if coordinator.is_pending:
            return
        if not coordinator.waiting:
            # Gone already if what waited was answered at once.
            if self._coordinators.get(endpoint) is coordinator:
                del self._coordinators[endpoint]
            return
        sent, coordinator.waiting = coordinator.waiting, {}
        coordinator.is_pending = True

        def answered(answer: WireMessage | RequestFailure) -> None:
            coordinator.is_pending = False
            self._answered(endpoint, sent, answer)
            self._send(endpoint, coordinator)

        self._outbound.send(
            _PURPOSE,
            endpoint,
            AddPartitionsToTxnRequest(transactions=[_transaction(each) for each in sent.values()]),
            timeout_ms=self._timeout_ms,
            now_ms=self._context.now_ms,
            done=answered,
            listener=self._context.settings.inter_broker_listener_name,
        )

    def _answered(
        self, endpoint: Endpoint, sent: Mapping[str, PartitionsOfTransaction], answer: WireMessage | RequestFailure
    ) -> None:
        if isinstance(answer, RequestFailure):
            self._report(endpoint, answer.reason)
            for each in sent.values():
                if answer.is_unsupported_version:
                    # A coordinator of before KIP-890: its transactions are not verified.
                    each.verified({})
                else:
                    each.refuse(ErrorCode.NETWORK_EXCEPTION)
            return
        assert isinstance(answer, AddPartitionsToTxnResponse), "a response to this request"
        if answer.error_code:
            self._report(endpoint, error_name(answer.error_code))
        results = {result.transactional_id: result for result in answer.results_by_transaction}
        for transactional_id, each in sent.items():
            result = results.get(transactional_id)
            if answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                # That of brokers must not reach a client.
                each.refuse(ErrorCode.INVALID_TXN_STATE)
            elif answer.error_code or result is None:
                each.refuse(known_error(answer.error_code) if answer.error_code else ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                each.verified(_refused(result, each.operation))

    def _report(self, endpoint: Endpoint, reason: str) -> None:
        fields = {"coordinator": str(endpoint), "reason": reason}
        self._context.effects(Fact("warning", "transactions-not-verified", fields))


def _transaction(wanted: PartitionsOfTransaction) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        wanted.transactional_id,
        wanted.producer_id,
        wanted.producer_epoch,
        wanted.operation is not SupportedOperation.ADD_PARTITION,
        [AddPartitionsToTxnTopic(name, tuple(partitions)) for name, partitions in by_topic(wanted.partitions).items()],
    )


def _refused(result: AddPartitionsToTxnResult, operation: SupportedOperation) -> dict[TopicPartition, ErrorCode]:
    return {
        TopicPartition(topic.name, partition.partition_index): _client_error(
            known_error(partition.partition_error_code), operation
        )
        for topic in result.topic_results
        for partition in topic.results_by_partition
        if partition.partition_error_code != NO_ERROR
    }


def _client_error(error: ErrorCode, operation: SupportedOperation) -> ErrorCode:
    if error is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error is ErrorCode.TRANSACTION_ABORTABLE and operation is SupportedOperation.DEFAULT_ERROR:
        return ErrorCode.INVALID_TXN_STATE
    return error
