"""Dynamic configs of topics, brokers, groups and client metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState


class ConfigurationControl:
    """Dynamic configs of topics, brokers, groups and client metrics."""

    def __init__(self, state: ControllerState, settings: ControllerSettings) -> None:
        self._state = state

    def topic_config(self, topic: str, name: str) -> str | None:
        """Give a topic config's effective value: of the topic, the cluster's default, the static one, Kafka's."""
        raise NotImplementedError

    def min_insync_replicas(self, topic: str, *, replication_factor: int) -> int:
        """Give the effective min.insync.replicas, at most the replication factor."""
        raise NotImplementedError

    def is_unclean_election_enabled(self, topic: str) -> bool:
        """Give the effective unclean.leader.election.enable."""
        raise NotImplementedError
