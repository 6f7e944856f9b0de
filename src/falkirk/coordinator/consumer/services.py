"""What all parts of the consumer protocol in a shard work with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.assignors.range_assignor import RangeAssignor
from falkirk.coordinator.assignors.uniform_assignor import UniformAssignor
from falkirk.coordinator.consumer.topic_hash import TopicHashes
from falkirk.coordinator.consumer.topic_matcher import TopicMatcher
from falkirk.coordinator.written_records import SUBSCRIPTIONS_HASHED_SINCE
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.coordinator.assignors.assignor import Assignor
    from falkirk.coordinator.shard.context import ShardContext

ASSIGNORS: Final[Mapping[str, Assignor]] = {each.name: each for each in (UniformAssignor(), RangeAssignor())}
"""All that there are, by name; `group.consumer.assignors` says which of them a broker has, the default one first."""


class ConsumerServices:
    """One for each shard.

    `new_topics_offset`: the end offset of the first metadata that may have a topic which no expression was tried on.
    """

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.hashes = TopicHashes()
        self.new_topics_offset = 0
        self._matchers: dict[str, TopicMatcher] = {}

    @property
    def assignor_names(self) -> list[str]:
        """The assignors that members may ask for; the first is that of members which ask for none."""
        return [name for name in self.context.settings.consumer_assignors if name in ASSIGNORS]

    @property
    def are_topics_hashed(self) -> bool:
        """Say whether the finalized metadata.version has the hash of a group's topics, and no records of type 4."""
        return self.context.feature_levels.get(METADATA_VERSION, 0) >= SUBSCRIPTIONS_HASHED_SINCE

    def session_timeout_ms(self, group_id: str) -> int:
        """Give how long a member of a group may be silent."""
        settings = self.context.settings
        return self._config(
            group_id,
            "consumer.session.timeout.ms",
            settings.consumer_session_timeout_ms,
            (settings.consumer_min_session_timeout_ms, settings.consumer_max_session_timeout_ms),
        )

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """Give how often a member of a group shall speak up."""
        settings = self.context.settings
        return self._config(
            group_id,
            "consumer.heartbeat.interval.ms",
            settings.consumer_heartbeat_interval_ms,
            (settings.consumer_min_heartbeat_interval_ms, settings.consumer_max_heartbeat_interval_ms),
        )

    def topics_matching(self, regex: str) -> frozenset[str]:
        """Give the topics whose name matches. Raises TopicPatternError."""
        matcher = self._matchers.get(regex)
        if matcher is None:
            if len(self._matchers) >= _MATCHERS_MAX:
                self._matchers.clear()
            matcher = self._matchers[regex] = TopicMatcher.compiled(regex)
        return matcher.matching(self.context.topics.names())

    def topic_ids(self, names: Collection[str]) -> frozenset[bytes]:
        """Give the ids of those topics that exist."""
        found = (self.context.topics.id_of(name) for name in names)
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def _config(self, group_id: str, key: str, of_broker: int, limits: tuple[int, int]) -> int:
        """Take what a group has of its own, within what the broker allows now; the controller saw to its form."""
        own = self.context.group_configs.get(group_id, {}).get(key)
        return of_broker if own is None else min(max(int(own), limits[0]), limits[1])


# Compiled expressions kept; beyond, they are compiled anew when their topics are looked for again.
_MATCHERS_MAX: Final = 256
