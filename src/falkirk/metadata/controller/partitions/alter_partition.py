"""Leaders tell who is in sync with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.partition import NO_LEADER_CHANGE, RECOVERED, RECOVERING
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AlterPartitionResponse, PartitionChangeRecord
from falkirk.protocol.messages.alter_partition_response import PartitionData, TopicData
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages import AlterPartitionRequest
    from falkirk.protocol.messages.alter_partition_request import PartitionData as RequestedPartition
    from falkirk.protocol.messages.alter_partition_request import TopicData as RequestedTopic
    from falkirk.slices import Slices


class IsrChange:
    """One AlterPartition request; each partition succeeds or fails for itself."""

    def __init__(
        self, state: ControllerState, configs: ConfigurationControl, request: AlterPartitionRequest, api_version: int
    ) -> None:
        self._image = state.image
        self._request = request
        self._api_version = api_version
        self._decision = ReplicationDecision(state, configs)
        self._records: list[VersionedRecord] = []

    def alter(self) -> Slices[ControllerResult[AlterPartitionResponse]]:
        """Decide on all partitions; their changes need not take effect together."""
        request = self._request
        broker = self._image.cluster.brokers.get(request.broker_id)
        if broker is None or broker.broker_epoch != request.broker_epoch:
            return ControllerResult((), AlterPartitionResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
        budget = SliceBudget()
        response = AlterPartitionResponse()
        for topic in request.topics:
            response.topics.append((yield from self._topic(topic, budget)))
            if budget.spend(1):
                yield
        return ControllerResult(tuple(self._records), response, is_atomic=False)

    @property
    def _has_topic_ids(self) -> bool:
        return self._api_version > 1

    def _topic(self, requested: RequestedTopic, budget: SliceBudget) -> Slices[TopicData]:
        topics = self._image.topics
        if self._has_topic_ids:
            topic, error = topics.topic_by_id(requested.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic, error = topics.topic(requested.topic_name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        partitions = []
        for partition in requested.partitions:
            partitions.append(
                PartitionData(partition.partition_index, error) if topic is None else self._partition(topic, partition)
            )
            if budget.spend(2 * DECISION_VISITS):
                yield
        return TopicData(requested.topic_name, requested.topic_id, partitions)

    def _partition(self, topic: Topic, requested: RequestedPartition) -> PartitionData:
        index = requested.partition_index
        partition = topic.partition(index)
        if partition is None:
            return PartitionData(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        isr = self._new_isr(partition, requested)
        error = self._isr_error(partition, requested, isr)
        if error is not ErrorCode.NONE:
            return PartitionData(index, error)
        record = self._decision.change(
            topic,
            index,
            partition,
            isr=tuple(isr),
            leader_recovery_state=requested.leader_recovery_state,
        )
        if record is not None:
            self._records.append(record)
            change = record.record
            assert isinstance(change, PartitionChangeRecord)
            if change.leader not in {self._request.broker_id, NO_LEADER_CHANGE}:
                # The change ended a reassignment that takes the leader away, which must ask for metadata before it
                # goes on: an error, though the change is made.
                error = ErrorCode.NEW_LEADER_ELECTED if self._has_topic_ids else ErrorCode.FENCED_LEADER_EPOCH
                return PartitionData(index, error)
            partition = partition.changed_by(change)
        return PartitionData(
            partition_index=index,
            leader_id=partition.leader,
            leader_epoch=partition.leader_epoch,
            isr=partition.isr,
            leader_recovery_state=partition.leader_recovery_state,
            partition_epoch=partition.partition_epoch,
        )

    def _new_isr(self, partition: Partition, requested: RequestedPartition) -> dict[int, int]:
        """Return the broker epochs of the new ISR, in its order; -1: not told, so not checked.

        Nothing for one of more members than the partition has replicas, however many.
        """
        if len(requested.new_isr or requested.new_isr_with_epochs) > len(partition.replicas):
            return {}
        if self._api_version < 3:
            return dict.fromkeys(requested.new_isr, -1)
        return {broker.broker_id: broker.broker_epoch for broker in requested.new_isr_with_epochs}

    def _isr_error(self, partition: Partition, requested: RequestedPartition, isr: dict[int, int]) -> ErrorCode:
        error = self._epochs_error(partition, requested)
        if error is not ErrorCode.NONE:
            return error
        is_repeated = len(isr) != len(requested.new_isr or requested.new_isr_with_epochs)
        if is_repeated or not set(isr).issubset(partition.replicas) or partition.leader not in isr:
            return ErrorCode.INVALID_REQUEST
        state = requested.leader_recovery_state
        # Nobody can be in sync with a leader that is still recovering, and it recovers only once.
        if state not in {RECOVERED, RECOVERING} or (
            state == RECOVERING and (len(isr) > 1 or partition.leader_recovery_state == RECOVERED)
        ):
            return ErrorCode.INVALID_REQUEST
        if not all(self._is_eligible(broker_id, epoch) for broker_id, epoch in isr.items()):
            return ErrorCode.INELIGIBLE_REPLICA if self._has_topic_ids else ErrorCode.OPERATION_NOT_ATTEMPTED
        return ErrorCode.NONE

    def _epochs_error(self, partition: Partition, requested: RequestedPartition) -> ErrorCode:
        if requested.leader_epoch > partition.leader_epoch or requested.partition_epoch > partition.partition_epoch:
            # The leader knows more than this controller: there must be a newer one.
            return ErrorCode.NOT_CONTROLLER
        if requested.leader_epoch < partition.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if self._request.broker_id != partition.leader:
            return ErrorCode.INVALID_REQUEST
        if requested.partition_epoch < partition.partition_epoch:
            return ErrorCode.INVALID_UPDATE_VERSION
        return ErrorCode.NONE

    def _is_eligible(self, broker_id: int, broker_epoch: int) -> bool:
        if not self._decision.is_active(broker_id):
            return False
        return broker_epoch in {-1, self._image.cluster.brokers[broker_id].broker_epoch}
