"""The segments that a log need not keep, by its configuration and its start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.storage.log.data_segment import DataSegment
    from falkirk.storage.log.log_config import LogConfig
    from falkirk.storage.log.log_segments import LogSegments


def expired_segments(  # one argument for each thing that it depends on
    segments: LogSegments,
    config: LogConfig,
    *,
    log_start_offset: int,
    log_end_offset: int,
    high_watermark: int,
    now_ms: int,
    segments_max: int | None = None,
) -> list[DataSegment]:
    """Return segments from the front on, perhaps all of them; checks at most `segments_max`.

    Those before the log's start; with cleanup.policy delete also those beyond retention.bytes in total, and those whose
    largest timestamp (without one: the time when they were opened) is older than retention.ms. None reaches above the
    high watermark, and an empty active one stays. Source: UnifiedLog.deleteOldSegments.
    """
    kept = list(segments)
    kept_min = 0 if segments_max is None else len(kept) - segments_max

    def add_expired(is_due: Callable[[DataSegment, int], bool], *, is_last_included: bool = True) -> None:
        while kept and len(kept) > kept_min:
            is_last = len(kept) == 1
            end_offset = log_end_offset if is_last else kept[1].base_offset
            if end_offset > high_watermark or (is_last and not (is_last_included and kept[0].size)):
                return
            if not is_due(kept[0], end_offset):
                return
            del kept[0]

    add_expired(lambda _, end_offset: end_offset <= log_start_offset, is_last_included=False)
    if config.is_deleted and config.retention_bytes >= 0:
        surplus = sum(segment.size for segment in kept) - config.retention_bytes

        def is_surplus(segment: DataSegment, _: int) -> bool:
            nonlocal surplus
            surplus -= segment.size
            return surplus >= 0

        add_expired(is_surplus)
    if config.is_deleted and config.retention_ms >= 0:
        add_expired(lambda segment, _: now_ms - _written_ms(segment) > config.retention_ms)
    return list(segments)[: len(segments) - len(kept)]


def _written_ms(segment: DataSegment) -> int:
    largest = segment.largest[0]
    return largest if largest >= 0 else segment.created_ms
