"""Brokers tell in which of their log directories replicas lie. Source: KIP-858."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.partition_reassignment import without
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.partition_set import PartitionKey
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AssignReplicasToDirsResponse
from falkirk.protocol.messages.assign_replicas_to_dirs_response import DirectoryData, PartitionData, TopicData
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages import AssignReplicasToDirsRequest
    from falkirk.protocol.messages.assign_replicas_to_dirs_request import DirectoryData as AssignedDirectory
    from falkirk.slices import Slices


class DirectoryAssignment:
    """One AssignReplicasToDirs request; each partition succeeds or fails for itself."""

    def __init__(
        self, state: ControllerState, configs: ConfigurationControl, request: AssignReplicasToDirsRequest
    ) -> None:
        self._image = state.image
        self._request = request
        self._decision = ReplicationDecision(state, configs)
        self._leaving = ReplicationDecision(state, configs, leaving=request.broker_id)
        self._records: list[VersionedRecord] = []
        # Partitions whose replica turns out to lie in a directory that has failed.
        self._offline: dict[PartitionKey, None] = {}

    def assign(self) -> Slices[ControllerResult[AssignReplicasToDirsResponse]]:
        """Apply the reported directories of replicas; replicas in offline directories leave ISRs and leaderships.

        The changes need not take effect together.
        """
        request, budget = self._request, SliceBudget()
        error = ErrorCode.NONE
        broker = self._image.cluster.brokers.get(request.broker_id)
        if not self._decision.metadata_version.directory_assignment_supported:
            error = ErrorCode.UNSUPPORTED_VERSION
        elif broker is None or broker.broker_epoch != request.broker_epoch:
            error = ErrorCode.STALE_BROKER_EPOCH
        if error is not ErrorCode.NONE:
            return ControllerResult((), AssignReplicasToDirsResponse(error_code=error))
        response = AssignReplicasToDirsResponse()
        for directory in request.directories:
            response.directories.append((yield from self._directory(directory, budget)))
        for key in self._offline:
            found = self._leaving.partition(key)
            assert found is not None, "it was assigned in this request"
            topic, partition = found
            isr = without(partition.isr, (request.broker_id,))
            self._append(self._leaving.change(topic, key.partition_id, partition, isr=isr))
            if budget.spend(2 * DECISION_VISITS):
                yield
        return ControllerResult(tuple(self._records), response, is_atomic=False)

    def _directory(self, assigned: AssignedDirectory, budget: SliceBudget) -> Slices[DirectoryData]:
        is_offline = not self._image.cluster.brokers[self._request.broker_id].has_working(assigned.id)
        topics = []
        for requested in assigned.topics:
            topic = self._image.topics.topic_by_id(requested.topic_id)
            partitions = []
            for partition in requested.partitions:
                error = ErrorCode.UNKNOWN_TOPIC_ID
                if topic is not None:
                    error = self._assign(topic, partition.partition_index, assigned.id, is_offline=is_offline)
                partitions.append(PartitionData(partition.partition_index, error))
                if budget.spend(2 * DECISION_VISITS):
                    yield
            topics.append(TopicData(requested.topic_id, partitions))
            if budget.spend(1):
                yield
        return DirectoryData(assigned.id, topics)

    def _assign(self, topic: Topic, index: int, directory: bytes, *, is_offline: bool) -> ErrorCode:
        broker_id = self._request.broker_id
        partition: Partition | None = topic.partition(index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        self._append(
            self._decision.change(topic, index, partition, election=Election.ONLINE, directories={broker_id: directory})
        )
        if is_offline:
            self._offline[PartitionKey(topic.topic_id, index)] = None
        return ErrorCode.NONE

    def _append(self, record: VersionedRecord | None) -> None:
        if record is not None:
            self._records.append(record)
