"""The parts of a broker that handlers use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.node.broker.auto_topic_creation import AutoTopicCreation
    from falkirk.node.broker.fetch_sessions import FetchSessions
    from falkirk.node.broker.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.broker.producer_ids import ProducerIds
    from falkirk.node.broker.replication.replica_manager import ReplicaManager
    from falkirk.node.broker.transaction_coordinator.marker_writer import MarkerWriter
    from falkirk.node.broker.transaction_coordinator.transaction_coordinator import TransactionCoordinator
    from falkirk.node.broker.transaction_verification.transaction_verification import TransactionVerification


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerServices:
    """`topic_creation` creates missing topics; `fetch_bytes_max` is fetch.max.bytes."""

    replicas: "ReplicaManager"
    groups: "GroupCoordinator"
    transactions: "TransactionCoordinator"
    marker_writer: "MarkerWriter"
    fetch_sessions: "FetchSessions"
    producer_ids: "ProducerIds"
    transaction_verification: "TransactionVerification"
    topic_creation: "AutoTopicCreation"
    fetch_bytes_max: int
