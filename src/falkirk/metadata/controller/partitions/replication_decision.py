"""What one decision on partitions reads of brokers and configs, each read once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_change import Election, PartitionChange, Surroundings
from falkirk.metadata.controller.partitions.replica_placement import UsableBroker
from falkirk.metadata.image.partition import MIGRATING, UNASSIGNED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.partitions.partition_reassignment import Reassignment
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.partition_set import PartitionKey
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.metadata.records.batch import VersionedRecord


class ReplicationDecision:
    """One decision, on the state as it is; thrown away after it.

    `joining`: a broker to be taken as active though the state has it fenced: it is about to be unfenced. `leaving`:
    one that may lead nothing any more.
    """

    def __init__(
        self,
        state: ControllerState,
        configs: ConfigurationControl,
        *,
        joining: int | None = None,
        leaving: int | None = None,
    ) -> None:
        self.image = state.image
        self.metadata_version = state.metadata_version
        self.elr_enabled = state.image.features.is_elr_enabled
        self._configs = configs
        self._joining = joining
        self._leaving = leaving
        self._active: dict[int, bool] = {}
        self._topics: dict[bytes, tuple[int, bool]] = {}

    def is_active(self, broker_id: int) -> bool:
        """Return whether a broker is registered, unfenced and not in controlled shutdown."""
        active = self._active.get(broker_id)
        if active is None:
            if broker_id in {self._joining, self._leaving}:
                active = broker_id != self._leaving
            else:
                broker = self.image.cluster.brokers.get(broker_id)
                active = broker is not None and not broker.fenced and not broker.in_controlled_shutdown
            self._active[broker_id] = active
        return active

    def active(self, replicas: Iterable[int]) -> tuple[int, ...]:
        """Return the replicas whose brokers are active, in their order: the ISR of a new partition."""
        return tuple(replica for replica in replicas if self.is_active(replica))

    def default_directory(self, broker_id: int) -> bytes:
        """Return the directory of a broker's new replica: its only one, else unassigned (KIP-858)."""
        if not self.metadata_version.directory_assignment_supported:
            return MIGRATING
        broker = self.image.cluster.brokers.get(broker_id)
        if broker is None:
            return UNASSIGNED
        if not broker.log_dirs:
            return MIGRATING
        return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED

    def usable_brokers(self) -> list[UsableBroker]:
        """Return the brokers that can get new replicas.

        A broker whose controlled shutdown has ended, and which is fenced therefore, is one of them: it comes back.
        """
        return [
            UsableBroker(broker_id, broker.rack, broker.fenced)
            for broker_id, broker in sorted(self.image.cluster.brokers.items())
            if (broker.fenced or not broker.in_controlled_shutdown) and not _is_cordoned(broker)
        ]

    def change(
        self,
        topic: Topic,
        partition_id: int,
        partition: Partition,
        *,
        election: Election | None = None,
        isr: tuple[int, ...] | None = None,
        reassignment: Reassignment | None = None,
        leader_recovery_state: int | None = None,
        unclean_shutdown: tuple[int, ...] = (),
        directories: Mapping[int, bytes] | None = None,
    ) -> VersionedRecord | None:
        """Return the record of a change, as PartitionChange; None if nothing changes.

        Without `election`, one may be unclean if the topic's configs say so.
        """
        min_insync_replicas, is_unclean_enabled = self._topic(topic)
        if election is None:
            election = Election.UNCLEAN if is_unclean_enabled else Election.ONLINE

        def may_lead(replica: int) -> bool:
            return self.is_active(replica) and self._is_online(replica, partition)

        return PartitionChange(
            topic_id=topic.topic_id,
            partition_id=partition_id,
            partition=partition,
            surroundings=Surroundings(
                metadata_version=self.metadata_version,
                elr_enabled=self.elr_enabled,
                min_insync_replicas=min_insync_replicas,
                may_lead=may_lead,
                default_directory=self.default_directory,
            ),
            election=election,
            isr=isr,
            reassignment=reassignment,
            leader_recovery_state=leader_recovery_state,
            unclean_shutdown=unclean_shutdown,
            directories=directories,
        ).record()

    def partition(self, key: PartitionKey) -> tuple[Topic, Partition] | None:
        """Return a partition with its topic; None if it was deleted."""
        topic = self.image.topics.topic_by_id(key.topic_id)
        partition = None if topic is None else topic.partition(key.partition_id)
        return None if topic is None or partition is None else (topic, partition)

    @staticmethod
    def directory(partition: Partition, replica: int) -> bytes | None:
        """Return the directory of a replica; None for one that the partition does not have."""
        if replica not in partition.replicas:
            return None
        return partition.directories[partition.replicas.index(replica)]

    def is_unclean_election_enabled(self, topic: Topic) -> bool:
        """Return the effective unclean.leader.election.enable."""
        return self._topic(topic)[1]

    def _topic(self, topic: Topic) -> tuple[int, bool]:
        known = self._topics.get(topic.topic_id)
        if known is None:
            first = topic.partition(0)
            known = self._topics[topic.topic_id] = (
                self._configs.min_insync_replicas(
                    topic.name, replication_factor=1 if first is None else len(first.replicas)
                ),
                self._configs.is_unclean_election_enabled(topic.name),
            )
        return known

    def _is_online(self, replica: int, partition: Partition) -> bool:
        directory = self.directory(partition, replica)
        broker = self.image.cluster.brokers.get(replica)
        return directory is None or (broker is not None and broker.has_working(directory))


def _is_cordoned(broker: BrokerRegistration) -> bool:
    cordoned: Sequence[bytes] = broker.cordoned_log_dirs or ()
    return bool(cordoned) and set(broker.log_dirs).issubset(cordoned)
