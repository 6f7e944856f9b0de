"""A follower as the partition's leader sees it: its offsets, and when it last was caught up."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_OFFSET = -1


@dataclass(slots=True, eq=False)
class RemoteReplica:
    """Offsets are -1, and the broker epoch None, until the follower fetches. Source: Replica.scala, ReplicaState."""

    broker_id: int
    log_start_offset: int = UNKNOWN_OFFSET
    log_end_offset: int = UNKNOWN_OFFSET
    # The leader's end, and the time, of the previous fetch.
    last_fetch_leader_end_offset: int = 0
    last_fetch_ms: int = 0
    last_caught_up_ms: int = 0
    broker_epoch: int | None = None

    def fetched(
        self, fetch_offset: int, log_start_offset: int, *, leader_end_offset: int, now_ms: int, broker_epoch: int
    ) -> None:
        """Update by a fetch: the follower has all before `fetch_offset`.

        A follower that fetches at what was the leader's end at its previous fetch was caught up then: followers of a
        busy leader never reach its current end.
        """
        if fetch_offset >= leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif fetch_offset >= self.last_fetch_leader_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset = fetch_offset
        self.last_fetch_leader_end_offset = max(leader_end_offset, self.last_fetch_leader_end_offset)
        self.last_fetch_ms = now_ms
        self.broker_epoch = broker_epoch

    def begin_epoch(self, leader_end_offset: int, *, is_new_leader: bool, is_in_sync: bool, now_ms: int) -> None:
        """Begin a leader epoch: replicas in the ISR count as caught up now."""
        self.last_caught_up_ms = now_ms if is_in_sync else 0
        if is_new_leader:
            self.log_start_offset = self.log_end_offset = UNKNOWN_OFFSET
            self.last_fetch_leader_end_offset = UNKNOWN_OFFSET
            self.last_fetch_ms = 0
            self.broker_epoch = None
        else:
            self.last_fetch_leader_end_offset = leader_end_offset
            if is_in_sync:
                self.last_fetch_ms = now_ms

    def is_caught_up(self, leader_end_offset: int, *, now_ms: int, lag_ms_max: int) -> bool:
        """Return whether it is at the end, or was within `lag_ms_max`."""
        return self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_ms <= lag_ms_max
