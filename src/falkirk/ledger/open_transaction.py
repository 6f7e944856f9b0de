"""A transaction that is neither committed nor aborted, as every front end reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True, kw_only=True)
class OpenTransaction:
    """`state`: in words, such as `prepare commit`; `partition` of its last record, which has `offset` there.

    `partitions`: names of those in it; `start_timestamp_ms` is -1 if it is unknown.
    """

    transactional_id: str
    state: str
    partition: int
    offset: int
    producer_id: int
    producer_epoch: int
    partitions: tuple[str, ...]
    start_timestamp_ms: int
