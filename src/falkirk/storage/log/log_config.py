"""A topic's configuration of its logs, typed (Kafka's LogConfig)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.configs.definition import Value

COMPACT: Final = "compact"
DELETE: Final = "delete"
CREATE_TIME: Final = "CreateTime"
LOG_APPEND_TIME: Final = "LogAppendTime"
PRODUCER_COMPRESSION: Final = "producer"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """Names are those of topic configs, times in ms, sizes in bytes; the defaults are Kafka's."""

    segment_bytes: int = 1024 * 1024 * 1024
    segment_ms: int = 7 * 24 * 3600 * 1000
    segment_jitter_ms: int = 0
    segment_index_bytes: int = 10 * 1024 * 1024
    index_interval_bytes: int = 4096
    flush_messages: int = 2**63 - 1
    flush_ms: int = 2**63 - 1
    retention_bytes: int = -1
    retention_ms: int = 7 * 24 * 3600 * 1000
    max_message_bytes: int = 1024 * 1024 + 12
    cleanup_policy: frozenset[str] = frozenset((DELETE,))
    min_cleanable_dirty_ratio: float = 0.5
    delete_retention_ms: int = 24 * 3600 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = 2**63 - 1
    file_delete_delay_ms: int = 60 * 1000
    message_timestamp_type: str = CREATE_TIME
    message_timestamp_before_max_ms: int = 2**63 - 1
    message_timestamp_after_max_ms: int = 2**63 - 1
    compression_type: str = PRODUCER_COMPRESSION
    min_insync_replicas: int = 1
    # Until 3.9.
    message_downconversion_enable: bool = True

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> LogConfig:
        """Make it of a topic's parsed configs; missing ones have their defaults.

        Until 3.9 message.timestamp.difference.max.ms stood for both limits; their own values take precedence over it.
        """
        found = {field: values[name] for field, name in _NAMES.items() if values.get(name) is not None}
        difference = values.get("message.timestamp.difference.max.ms")
        if isinstance(difference, int):
            for limit in ("message_timestamp_before_max_ms", "message_timestamp_after_max_ms"):
                found.setdefault(limit, difference)
        policy = found.get("cleanup_policy")
        if policy is not None:
            found["cleanup_policy"] = frozenset(cast("tuple[str, ...]", policy))  # type: ignore[assignment]
        return cls(**found)  # type: ignore[arg-type]

    @property
    def is_compacted(self) -> bool:
        """True if only the last record of each key is retained."""
        return COMPACT in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """True if old segments are deleted."""
        return DELETE in self.cleanup_policy


_NAMES: Final = {field: field.replace("_", ".") for field in LogConfig.__dataclass_fields__}
