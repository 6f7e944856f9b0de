"""What the parts of the consumer protocol share in a shard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.coordinator.assignors.range_assignor import RangeAssignor
from falkirk.coordinator.assignors.uniform_assignor import UniformAssignor
from falkirk.coordinator.consumer.topic_hash import TopicHashes
from falkirk.coordinator.records.written_records import SUBSCRIPTIONS_HASHED_SINCE
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.coordinator.assignors.assignor import Assignor
    from falkirk.coordinator.runtime.context import ShardContext
    from falkirk.coordinator.runtime.settings import GroupSettings

ASSIGNORS: Final[Mapping[str, Assignor]] = {each.name: each for each in (UniformAssignor(), RangeAssignor())}
"""All assignors by name; `group.consumer.assignors` lists those of a broker, the default one first."""


# Groups whose times are cached; beyond, the cache is cleared.
_TIMES_MAX: Final = 10_000


class ConsumerServices:
    """One for each shard.

    `new_topics_offset`: the end offset of the first metadata that may have a topic not yet matched by expressions.
    """

    def __init__(self, context: ShardContext) -> None:
        self.context = context
        self.hashes = TopicHashes()
        self.new_topics_offset = 0
        self.assignor_names = [name for name in context.settings.consumer_assignors if name in ASSIGNORS]
        """The assignors that members may ask for; the first is that of members which ask for none."""
        # What was found last of a group's own configs, and where.
        self._configs: Mapping[str, Mapping[str, str]] = context.group_configs
        self._times: dict[str, _Times] = {}

    @property
    def are_topics_hashed(self) -> bool:
        """True if the finalized metadata.version replaces records of type 4 by a hash of the group's topics."""
        return self.context.feature_levels.get(METADATA_VERSION, 0) >= SUBSCRIPTIONS_HASHED_SINCE

    def session_timeout_ms(self, group_id: str) -> int:
        """Return the session timeout of a group's members."""
        return self._times_of(group_id).session_timeout_ms

    def heartbeat_interval_ms(self, group_id: str) -> int:
        """Return the heartbeat interval of a group's members."""
        return self._times_of(group_id).heartbeat_interval_ms

    def assignment_interval_ms(self, group_id: str) -> int:
        """Return the least time between two assignments of a group."""
        return self._times_of(group_id).assignment_interval_ms

    def topics_matching(self, regex: str) -> frozenset[str]:
        """Return the topics whose names match. Raises TopicPatternError."""
        return self.context.topic_matchers.matching(regex, self.context.topics.names())

    def topic_ids(self, names: Collection[str]) -> frozenset[bytes]:
        """Return the ids of the topics that exist."""
        found = (self.context.topics.id_of(name) for name in names)
        return frozenset(topic_id for topic_id in found if topic_id is not None)

    def _times_of(self, group_id: str) -> _Times:
        """Return a group's times: needed for each heartbeat, and read again after configs have changed."""
        configs = self.context.group_configs
        if configs is not self._configs or len(self._times) >= _TIMES_MAX:
            self._configs = configs
            self._times.clear()
        times = self._times.get(group_id)
        if times is None:
            times = self._times[group_id] = _times(self.context.settings, configs.get(group_id, {}))
        return times


class _Times(NamedTuple):
    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def _times(settings: GroupSettings, configs: Mapping[str, str]) -> _Times:
    """Return a group's own times within the broker's current bounds; the controller has validated their form."""

    def time_ms(key: str, default: int, lowest: int, highest: int) -> int:
        found = configs.get(f"consumer.{key}.ms")
        return default if found is None else min(max(int(found), lowest), highest)

    return _Times(
        session_timeout_ms=time_ms(
            "session.timeout",
            settings.consumer_session_timeout_ms,
            settings.consumer_min_session_timeout_ms,
            settings.consumer_max_session_timeout_ms,
        ),
        heartbeat_interval_ms=time_ms(
            "heartbeat.interval",
            settings.consumer_heartbeat_interval_ms,
            settings.consumer_min_heartbeat_interval_ms,
            settings.consumer_max_heartbeat_interval_ms,
        ),
        assignment_interval_ms=time_ms(
            "assignment.interval",
            settings.consumer_assignment_interval_ms,
            settings.consumer_min_assignment_interval_ms,
            settings.consumer_max_assignment_interval_ms,
        ),
    )
