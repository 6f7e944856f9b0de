"""The broker's settings of housekeeping."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HousekeepingSettings:
    """Names are those of Kafka's configuration (dots for underscores), times in ms, sizes in bytes; its defaults."""

    log_retention_check_interval_ms: int = 5 * 60 * 1000
    log_flush_scheduler_interval_ms: int = 2**63 - 1
    log_flush_offset_checkpoint_interval_ms: int = 60 * 1000
    log_flush_start_offset_checkpoint_interval_ms: int = 60 * 1000
    replica_high_watermark_checkpoint_interval_ms: int = 5000
    log_initial_task_delay_ms: int = 30 * 1000
    producer_id_expiration_ms: int = 24 * 3600 * 1000
    log_cleaner_enable: bool = True
    log_cleaner_backoff_ms: int = 15 * 1000
    log_cleaner_dedupe_buffer_size: int = 128 * 1024 * 1024
    log_cleaner_io_buffer_load_factor: float = 0.9
