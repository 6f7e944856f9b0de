"""Compares the brokers' logs before and after each step, and calls the data checkers with the differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.history.data_history import PartitionKey
from falkirk.simulation.views.cluster_logs import ClusterLogs, Seen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.image.partition import Partition
    from falkirk.metadata.image.topic import Topic
    from falkirk.simulation.checkers.data_checker import DataChecker
    from falkirk.simulation.history.data_history import DataHistory
    from falkirk.simulation.views.log_view import BrokerView, LogView

_Suspects = dict[PartitionKey, set[int]]


class LogWatch:
    """After a broker starts, its whole logs count as new."""

    def __init__(self, history: DataHistory, checkers: Sequence[DataChecker]) -> None:
        self.logs = ClusterLogs(history)
        self._checkers = checkers
        self._fresh: set[tuple[int, PartitionKey]] = set()
        self._suspicions = ((self.logs.suspects, history.lossy), (self.logs.started, history.restarted))
        for checker in checkers:
            checker.logs = self.logs

    # --- What the run tells

    def published(self, image: MetadataImage) -> None:
        """Store the image if it is newer."""
        if self.logs.image is not None and image.provenance.end_offset <= self.logs.image.provenance.end_offset:
            return
        before, self.logs.image = self.logs.image, image
        for suspects, found in self._suspicions:
            for key in list(suspects):
                self._update(key, suspects, found)
        for topic in image.topics:
            self.logs.history.topics.setdefault(topic.topic_id, topic.name)
            known = None if before is None else before.topics.topic_by_id(topic.topic_id)
            if known is not None and known is not topic:
                self._report_joined(known, topic)

    def started(self, broker: BrokerView) -> None:
        """Check all logs of a broker that has just started: the crash may have damaged them."""
        self._fresh -= {place for place in self._fresh if place[0] == broker.node_id}
        self._suspect(broker.node_id, self.logs.started, self.logs.history.restarted)

    def after_step(self, broker: BrokerView) -> None:
        """Call the checkers with what changed."""
        broker_id, logs = broker.node_id, broker.logs
        there = {log.key for log in logs}
        # A removed replica starts from nothing if it returns.
        self._fresh -= {place for place in self._fresh if place[0] == broker_id and place[1] not in there}
        for log in logs:
            place = broker_id, log.key
            now = Seen(log.log_start_offset, log.log_end_offset, log.high_watermark, log.led_epoch)
            if place in self._fresh:
                before = self.logs.seen[place]
                if now == before:
                    continue
            else:
                before = Seen(start=now.start, end=now.start, high_watermark=now.start)
                self._fresh.add(place)
            self.logs.seen[place] = now
            self._report(broker_id, log, before, now)

    def ended(self, broker: BrokerView) -> None:
        """Record a broker's logs when it stops: it may have sent them to others in its last step."""
        for log in broker.logs:
            self.logs.seen[broker.node_id, log.key] = Seen(log.log_start_offset, log.log_end_offset, log.high_watermark)

    def lost_power(self, broker_id: int) -> None:
        """Record that a broker may have lost unsynced data."""
        self._suspect(broker_id, self.logs.suspects, self.logs.history.lossy)

    def at_end(self, brokers: Mapping[int, BrokerView]) -> None:
        """Run the final checks on all logs of existing partitions, replica by replica."""
        logs: dict[PartitionKey, dict[int, LogView]] = {}
        for broker_id, broker in brokers.items():
            for log in broker.logs:
                partition = self.logs.partition(log.key)
                if partition is not None and broker_id in partition.replicas:
                    logs.setdefault(log.key, {})[broker_id] = log
        for checker in self._checkers:
            for key, replicas in logs.items():
                checker.at_end(key, replicas)

    # --- Inside

    def _report_joined(self, before: Topic, now: Topic) -> None:
        for partition_id, partition in now.items():
            known = before.partition(partition_id)
            if known is not None and known is not partition:
                for broker_id in partition.isr:
                    if broker_id not in known.isr:
                        for checker in self._checkers:
                            checker.joined(broker_id, PartitionKey(now.topic_id, partition_id))

    def _report(self, broker_id: int, log: LogView, before: Seen, now: Seen) -> None:
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

    def _suspect(self, broker_id: int, suspects: _Suspects, found: set[PartitionKey]) -> None:
        """Suspect a broker wherever it may lead next."""
        if self.logs.image is None:
            return
        for topic in self.logs.image.topics:
            for partition_id, partition in topic.items():
                if broker_id in _successors(partition):
                    key = PartitionKey(topic.topic_id, partition_id)
                    suspects.setdefault(key, set()).add(broker_id)
                    self._update(key, suspects, found)

    def _update(self, key: PartitionKey, suspects: _Suspects, found: set[PartitionKey]) -> None:
        """Add a partition to `found` if all its successors are suspects; drop suspects that are no successors."""
        partition = self.logs.partition(key)
        if partition is None:
            del suspects[key]
            return
        successors = _successors(partition)
        suspects[key] &= successors
        if not suspects[key]:
            del suspects[key]
        elif suspects[key] == successors:
            found.add(key)


def _successors(partition: Partition) -> set[int]:
    """Return the replicas that may lead next: the ISR and the eligible leader replicas (KIP-966)."""
    return {*partition.isr, *partition.eligible_leader_replicas}
