"""Dynamic configs of topics, brokers, groups and client metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.metadata.controller.api_error import ApiError
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.controller.state import ControllerState
    from falkirk.metadata.writer import VersionedRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectiveConfig:
    """A config with where its value comes from; `source` is Kafka's number (1 topic, 5 default, ...)."""

    name: str
    value: str | None
    source: int
    read_only: bool = False
    is_sensitive: bool = False


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

    def alter_topic_configs_for_creation(
        self, topic: str, configs: Iterable[tuple[str, str | None]]
    ) -> tuple[list[VersionedRecord], ApiError]:
        """Check the configs that a new topic is to have; give their records and NO_ERROR, or none and the error."""
        raise NotImplementedError

    def effective_topic_configs(self, configs: Iterable[tuple[str, str | None]]) -> list[EffectiveConfig]:
        """Give all configs that a topic with these overrides has, by name, as CreateTopics answers them."""
        raise NotImplementedError
