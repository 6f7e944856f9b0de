"""Which log directory of a broker each of its replicas lies in. Source: KIP-858."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.api_error import ApiError
from falkirk.metadata.controller.broker_epoch import broker_of_epoch
from falkirk.metadata.controller.partition_reassignment import without
from falkirk.metadata.controller.replication_decision import ReplicationDecision
from falkirk.metadata.controller.result import ControllerResult
from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import AssignReplicasToDirsResponse
from falkirk.protocol.messages.assign_replicas_to_dirs_response import DirectoryData, PartitionData, TopicData

if TYPE_CHECKING:
    from falkirk.metadata.controller.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state import ControllerState
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.writer import VersionedRecord
    from falkirk.protocol.messages import AssignReplicasToDirsRequest
    from falkirk.protocol.messages.assign_replicas_to_dirs_request import TopicData as AskedTopic


class LogDirectories:
    """Takes down where brokers have put their replicas."""

    def __init__(self, state: ControllerState, configs: ConfigurationControl) -> None:
        self._state = state
        self._configs = configs

    def assign(self, request: AssignReplicasToDirsRequest) -> ControllerResult[AssignReplicasToDirsResponse] | ApiError:
        """Assign replicas of a broker to its directories; those in one that is offline leave ISRs and leaderships.

        Errors of all of it: UNSUPPORTED_VERSION below 3.7-IV2, STALE_BROKER_EPOCH. Of one partition: UNKNOWN_TOPIC_ID,
        UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if the broker has no replica of it.
        """
        if not self._state.metadata_version.directory_assignment_supported:
            return ApiError(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
        broker = broker_of_epoch(self._state.image.cluster, request.broker_id, request.broker_epoch)
        if isinstance(broker, ApiError):
            return broker
        records: list[VersionedRecord] = []
        response = AssignReplicasToDirsResponse()
        for directory in request.directories:
            assignment = _Assignment(self._state, self._configs, broker, directory.id)
            topics = [assignment.assign(topic) for topic in directory.topics]
            response.directories.append(DirectoryData(directory.id, topics))
            records += assignment.records
        return ControllerResult(tuple(records), response, is_atomic=False)


class _Assignment:
    """Replicas of one broker that lie in one directory."""

    def __init__(
        self, state: ControllerState, configs: ConfigurationControl, broker: BrokerRegistration, directory: bytes
    ) -> None:
        self._topics = state.image.topics
        self._broker_id = broker.broker_id
        self._directory = directory
        self._is_online = _is_online(directory, broker)
        leaving = None if self._is_online else broker.broker_id
        self._decision = ReplicationDecision(state, configs, leaving=leaving)
        self.records: list[VersionedRecord] = []

    def assign(self, asked: AskedTopic) -> TopicData:
        """Decide on the partitions of one topic; give the answer."""
        partitions = [
            PartitionData(partition.partition_index, self._assign(asked.topic_id, partition.partition_index))
            for partition in asked.partitions
        ]
        return TopicData(asked.topic_id, partitions)

    def _assign(self, topic_id: bytes, partition_id: int) -> ErrorCode:
        topic = self._topics.topic_by_id(topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        partition = topic.partition(partition_id)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self._broker_id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        isr = None if self._is_online else without(partition.isr, (self._broker_id,))
        directories = {self._broker_id: self._directory}
        record = self._decision.change(topic, partition_id, partition, isr=isr, directories=directories)
        if record is not None:
            self.records.append(record)
        return ErrorCode.NONE


_ANYWHERE: Final = frozenset({MIGRATING, UNASSIGNED})


def _is_online(directory: bytes, broker: BrokerRegistration) -> bool:
    if directory in _ANYWHERE:
        return True
    # A registration from below 3.7-IV2 tells no directories; the broker would be down if all had failed.
    return directory != LOST and (not broker.log_dirs or directory in broker.log_dirs)
