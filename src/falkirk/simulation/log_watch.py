"""Looks at the logs of brokers after their steps, and tells the checkers of data what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.simulation.workload.data_history import PartitionKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.simulation.checkers.data_checker import DataChecker
    from falkirk.simulation.log_view import BrokerView, LogView
    from falkirk.simulation.workload.data_history import DataHistory


@dataclass(frozen=True, slots=True)
class Seen:
    """A log as it was after the broker's last step."""

    start: int = 0
    end: int = 0
    high_watermark: int = 0
    led_epoch: int | None = None


class LogWatch:
    """`image`: the newest that any node has published. `seen`: of brokers that are down, too."""

    def __init__(self, history: DataHistory, checkers: Sequence[DataChecker]) -> None:
        self.history = history
        self.image: MetadataImage | None = None
        self.seen: dict[tuple[int, PartitionKey], Seen] = {}
        # Brokers that lost power while they were in sync or eligible, and are still called so, by partition.
        self.suspects: dict[PartitionKey, set[int]] = {}
        self._checkers = checkers
        self._fresh: set[tuple[int, PartitionKey]] = set()
        for checker in checkers:
            checker.watch = self

    # --- What the run tells

    def published(self, image: MetadataImage) -> None:
        """Take over a newer image."""
        if self.image is not None and image.provenance.end_offset <= self.image.provenance.end_offset:
            return
        before, self.image = self.image, image
        for key in list(self.suspects):
            self._judge(key)
        for topic in image.topics:
            self.history.topics.setdefault(topic.topic_id, topic.name)
            known = None if before is None else before.topics.topic_by_id(topic.topic_id)
            if known is not None and known is not topic:
                self._tell_who_joined(known, topic)

    def started(self, broker: BrokerView) -> None:
        """Look at all of the logs of a broker that has just started: the crash may have damaged them."""
        self._fresh -= {place for place in self._fresh if place[0] == broker.node_id}

    def after_step(self, broker: BrokerView) -> None:
        """Tell the checkers what is new."""
        broker_id, logs = broker.node_id, broker.logs
        there = {log.key for log in logs}
        # A replica that was taken away begins anew if it ever comes back.
        self._fresh -= {place for place in self._fresh if place[0] == broker_id and place[1] not in there}
        for log in logs:
            place = broker_id, log.key
            now = Seen(log.log_start_offset, log.log_end_offset, log.high_watermark, log.led_epoch)
            if place in self._fresh:
                before = self.seen[place]
                if now == before:
                    continue
            else:
                before = Seen(start=now.start, end=now.start, high_watermark=now.start)
                self._fresh.add(place)
            self.seen[place] = now
            self._tell(broker_id, log, before, now)

    def ended(self, broker: BrokerView) -> None:
        """Take note of what a broker had when it stopped: others may have heard of it in its last step."""
        for log in broker.logs:
            self.seen[broker.node_id, log.key] = Seen(log.log_start_offset, log.log_end_offset, log.high_watermark)

    def lost_power(self, broker_id: int) -> None:
        """Take note that a broker may have lost what was not synced."""
        if self.image is None:
            return
        for topic in self.image.topics:
            for partition_id, partition in topic.items():
                if broker_id in _successors(partition):
                    key = PartitionKey(topic.topic_id, partition_id)
                    self.suspects.setdefault(key, set()).add(broker_id)
                    self._judge(key)

    # --- What checkers ask

    def partition(self, key: PartitionKey) -> Partition | None:
        """Give the newest state of a partition; None if it is not there (any more)."""
        if self.image is None:
            return None
        topic = self.image.topics.topic_by_id(key.topic_id)
        return None if topic is None else topic.partition(key.partition)

    def at_end(self, brokers: Mapping[int, BrokerView]) -> None:
        """Let all checkers look at all logs of partitions that are there, replica by replica."""
        logs: dict[PartitionKey, dict[int, LogView]] = {}
        for broker_id, broker in brokers.items():
            for log in broker.logs:
                partition = self.partition(log.key)
                if partition is not None and broker_id in partition.replicas:
                    logs.setdefault(log.key, {})[broker_id] = log
        for checker in self._checkers:
            for key, replicas in logs.items():
                checker.at_end(key, replicas)

    # --- Inside

    def _tell_who_joined(self, before: Topic, now: Topic) -> None:
        for partition_id, partition in now.items():
            known = before.partition(partition_id)
            if known is not None and known is not partition:
                for broker_id in partition.isr:
                    if broker_id not in known.isr:
                        for checker in self._checkers:
                            checker.joined(broker_id, PartitionKey(now.topic_id, partition_id))

    def _tell(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
        for checker in self._checkers:
            checker.changed(broker_id, log, before, now)
        if now.end > before.end:
            for batch in log.batches(before.end, now.end):
                for checker in self._checkers:
                    checker.appended(broker_id, log, batch)
        if now.high_watermark > before.high_watermark:
            for checker in self._checkers:
                checker.committed(broker_id, log, before.high_watermark, now.high_watermark)
        if now.led_epoch is not None and now.led_epoch != before.led_epoch:
            for checker in self._checkers:
                checker.leads(broker_id, log)

    def _judge(self, key: PartitionKey) -> None:
        """Give a partition up for lost where no successor surely has all; forget who is no successor now."""
        partition = self.partition(key)
        if partition is None:
            del self.suspects[key]
            return
        successors = _successors(partition)
        self.suspects[key] &= successors
        if not self.suspects[key]:
            del self.suspects[key]
        elif self.suspects[key] == successors:
            self.history.lossy.add(key)


def _successors(partition: Partition) -> set[int]:
    """Give who may lead next: who is in sync, or eligible in its place (KIP-966)."""
    return {*partition.isr, *partition.eligible_leader_replicas}
