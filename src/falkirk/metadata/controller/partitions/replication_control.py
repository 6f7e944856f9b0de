"""Topics, partitions, replicas in sync, and who leads: what others ask of it, each answered by a module of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.alter_partition import IsrChange
from falkirk.metadata.controller.partitions.broker_sweeps import BrokerSweeps
from falkirk.metadata.controller.partitions.directory_assignment import DirectoryAssignment
from falkirk.metadata.controller.partitions.elect_leaders import LeaderElection
from falkirk.metadata.controller.partitions.leader_balance import LeaderBalance
from falkirk.metadata.controller.partitions.partition_creation import PartitionCreation
from falkirk.metadata.controller.partitions.partition_reassignments import PartitionReassignments, list_reassignments
from falkirk.metadata.controller.partitions.replica_placement import ReplicaPlacer
from falkirk.metadata.controller.partitions.topic_creation import TopicCreation
from falkirk.metadata.controller.partitions.topic_deletion import delete_topics
from falkirk.metadata.controller.state.mutation_quota import UNLIMITED
from falkirk.metadata.controller.state.result import ControllerResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.mutation_quota import MutationQuota
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.metadata.requests.api_error import ApiError
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages import (
        AlterPartitionReassignmentsRequest,
        AlterPartitionRequest,
        AlterPartitionResponse,
        AssignReplicasToDirsRequest,
        AssignReplicasToDirsResponse,
        CreatePartitionsResponse,
        CreateTopicsResponse,
        ElectLeadersRequest,
        ListPartitionReassignmentsResponse,
    )
    from falkirk.protocol.messages.create_partitions_request import CreatePartitionsTopic
    from falkirk.protocol.messages.create_topics_request import CreatableTopic
    from falkirk.protocol.messages.list_partition_reassignments_request import ListPartitionReassignmentsTopics
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices


class ReplicationControl:
    """Topics, partitions, replicas in sync, and who leads."""

    def __init__(
        self,
        state: ControllerState,
        settings: ControllerSettings,
        configs: ConfigurationControl,
        random: Chance,
        now_ms: int = 0,
    ) -> None:
        self._state = state
        self._settings = settings
        self._configs = configs
        self._random = random
        newest = settings.release.kraft.metadata_versions[-1]
        self._placer = ReplicaPlacer(random, knows_cordoned=newest.cordoned_log_dirs_supported)
        self._balance = LeaderBalance(state, settings, configs, now_ms)
        self._sweeps = BrokerSweeps(state, configs)

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Yield the decisions that are due, as Controller.due: what follows brokers, and leaders that move back.

        What follows a broker goes first, whenever it begins: its partitions may have no leader.
        """
        yield from self._sweeps.due()
        for result in self._balance.due(now_ms):
            yield result
            yield from self._sweeps.due()

    @property
    def next_due_ms(self) -> int | None:
        """Return when `due` has work next, as Controller.next_due_ms."""
        return 0 if self._sweeps.is_due else self._balance.next_due_ms

    # Requests. Who may make them is for the handlers to say. Those that may change many partitions are decided in
    # slices.

    def create_topics(
        self,
        topics: Sequence[CreatableTopic],
        *,
        describable: AbstractSet[str],
        validate_only: bool,
        quota: MutationQuota = UNLIMITED,
    ) -> Slices[ControllerResult[CreateTopicsResponse]]:
        """Create topics, whose names must differ; `describable`: those whose configs may be told."""
        creation = TopicCreation(self._state, self._settings, self._configs, self._placer, self._random, quota=quota)
        return creation.create(topics, describable=describable, validate_only=validate_only)

    def delete_topics(
        self, topic_ids: Iterable[bytes], quota: MutationQuota = UNLIMITED
    ) -> ControllerResult[dict[bytes, ApiError]]:
        """Remove topics by id; return the result of each."""
        return delete_topics(self._state, topic_ids, quota)

    def create_partitions(
        self, topics: Sequence[CreatePartitionsTopic], *, validate_only: bool, quota: MutationQuota = UNLIMITED
    ) -> Slices[ControllerResult[CreatePartitionsResponse]]:
        """Add partitions to topics, whose names must differ."""
        creation = PartitionCreation(self._state, self._configs, self._placer, quota)
        return creation.create(topics, validate_only=validate_only)

    def alter_partition(
        self, request: AlterPartitionRequest, api_version: int
    ) -> Slices[ControllerResult[AlterPartitionResponse]]:
        """Change ISRs as leaders ask for it."""
        return IsrChange(self._state, self._configs, request, api_version).alter()

    def elect_leaders(self, request: ElectLeadersRequest, api_version: int) -> Slices[ControllerResult[WireMessage]]:
        """Elect leaders as an operator asks for it."""
        return LeaderElection(self._state, self._configs, request, api_version).elect()

    def alter_partition_reassignments(
        self, request: AlterPartitionReassignmentsRequest, api_version: int
    ) -> Slices[ControllerResult[WireMessage]]:
        """Start and call off reassignments."""
        return PartitionReassignments(self._state, self._configs, request, api_version).alter()

    def list_partition_reassignments(
        self, topics: Iterable[ListPartitionReassignmentsTopics] | None
    ) -> Slices[ControllerResult[ListPartitionReassignmentsResponse]]:
        """Return the reassignments in progress, of some partitions or of all (None)."""
        return ControllerResult((), (yield from list_reassignments(self._state, topics)))

    def assign_replicas_to_directories(
        self, request: AssignReplicasToDirsRequest
    ) -> Slices[ControllerResult[AssignReplicasToDirsResponse]]:
        """Apply the directories that a broker reports for its replicas."""
        return DirectoryAssignment(self._state, self._configs, request).assign()

    # What happens to partitions when a broker changes state: the changes of a first slice, see BrokerSweeps.

    def broker_fenced(self, broker_id: int) -> list[VersionedRecord]:
        """Remove a broker from all ISRs and leaderships; the caller adds the record that fences it."""
        return self._sweeps.left(broker_id)

    def broker_unfenced(self, broker_id: int) -> list[VersionedRecord]:
        """Elect leaders for partitions without one that this broker can lead."""
        return self._sweeps.joined(broker_id)

    def broker_shutting_down(self, broker_id: int) -> list[VersionedRecord]:
        """Move leaderships away and leave ISRs, as far as others can take over."""
        return self._sweeps.left(broker_id)

    def broker_unregistered(self, broker_id: int) -> list[VersionedRecord]:
        """Remove a broker from all ISRs and leaderships; the caller adds the record that unregisters it."""
        return self._sweeps.unregistered(broker_id)

    def broker_had_unclean_shutdown(self, broker_id: int) -> list[VersionedRecord] | None:
        """Remove a broker that lost its last writes from ISRs and ELRs (KIP-966); None: it must wait for that."""
        return self._sweeps.had_unclean_shutdown(broker_id)

    def directories_offline(self, broker_id: int, directories: frozenset[bytes]) -> list[VersionedRecord] | None:
        """Remove the replicas in a broker's failed directories from ISRs and leaderships; None: that goes on."""
        return self._sweeps.directories_offline(broker_id, directories)

    def is_changing(self, broker_id: int) -> bool:
        """Return whether partitions of a broker are still to follow its last change."""
        return self._sweeps.is_under_way(broker_id)

    def has_leaderships(self, broker_id: int) -> bool:
        """Return whether a broker still leads any partition."""
        return self._state.partitions.leaderships(broker_id) > 0
