"""One cluster as a watch follows it: what is read goes in, findings and events come out. No clock: times are given.

state = ClusterState("prod")
state.begin("yylGo1ijR1acfIGbD1wMdA", known={})
state.set_metadata(load_ledger(snapshot, batches), now_ms)     # then append_metadata, batch by batch
state.findings(now_ms)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.versions.release import CONSUMER_OFFSETS
from falkirk.watch.core.findings import Drift, Findings, LowestLevel
from falkirk.watch.core.freshness import FRESH_MS, GROUPS, METADATA, NODES, SOURCES, TRANSACTIONS, SourceState
from falkirk.watch.core.group_index import GroupIndex
from falkirk.watch.core.losses_view import LossesView
from falkirk.watch.core.metadata_ledger import MetadataLedger, Snapshot
from falkirk.watch.core.nodes import CLOCK_MS, LogEnds, clock_drift, drifts, feature_states, kraft_version, node_states
from falkirk.watch.core.places import METADATA_LOG
from falkirk.watch.core.targets import older_releases
from falkirk.watch.core.transitions import Transitions
from falkirk.watch.core.ways import Known, coordinator_use, unknown_way

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.ledger.open_transaction import OpenTransaction
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.operations.lift_observation import Observation
    from falkirk.protocol.record_batch import RecordBatch
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.watch.core.findings import GroupState, NodeState, WatchEvent
    from falkirk.watch.core.transitions import KnownWay

ANY_BROKERS: Final = "--bootstrap-server BROKERS"
ROWS_SHOWN: Final = 1000
"""Findings have at most so many groups and transactions; counts are of all."""


def load_ledger(snapshot: Snapshot | None, batches: Sequence[MetadataBatch]) -> MetadataLedger:
    """Load the metadata of a cluster at once. Raises RecordError."""
    ledger = MetadataLedger(older_releases())
    ledger.load(snapshot, batches)
    return ledger


class ClusterState:
    """Everything that is known of one cluster; `name` is the one in the watch.

    `connection`: options by which tools reach the cluster, for the commands of remedies.
    """

    def __init__(self, name: str, *, fresh_ms: int = FRESH_MS, connection: str = ANY_BROKERS) -> None:
        self.name = name
        self.cluster_id: str | None = None
        self._fresh_ms = fresh_ms
        self._connection = connection
        self._targets = older_releases()
        self._sources = {source: SourceState(source, fresh_ms) for source in SOURCES}
        self._reset({})

    def _reset(self, known: Mapping[str, KnownWay]) -> None:
        self._ledger = MetadataLedger(self._targets)
        self._groups = GroupIndex(self._targets)
        self._observation: Observation | None = None
        self._ends = LogEnds()
        self._has_metadata = False
        self._clock: int | None = None
        self._view: tuple[tuple[int, int], LossesView] | None = None
        self._rows: tuple[int, list[GroupState], list[OpenTransaction]] | None = None
        self._transitions = Transitions(self.name, self.cluster_id or "", known)
        for source in self._sources:
            self._sources[source] = SourceState(source, self._fresh_ms)

    def begin(self, cluster_id: str, known: Mapping[str, KnownWay]) -> None:
        """Forget everything, and begin with a cluster: the first, another one, or one that was built anew.

        `known`: ways as the journal has them, by release, so that only what is new makes events.
        """
        self.cluster_id = cluster_id
        self._reset(known)

    @property
    def end_offset(self) -> int:
        """Up to where the metadata log was read, exclusive."""
        return self._ledger.end_offset

    @property
    def epoch(self) -> int:
        """The epoch of the last record that was read; 0 before the first."""
        return self._ledger.epoch

    def revision(self, now_ms: int) -> tuple[object, ...]:
        """Return what changes whenever findings show something else than the passing of time and how far was read."""
        image = self._ledger.image
        return (
            self._ledger.index.version,
            self._groups.version,
            image.features,
            image.cluster,
            len(image.topics.by_name),
            None if self._observation is None else self._observation.silent,
            tuple((source.is_fresh(now_ms), source.reason) for source in self._sources.values()),
        )

    @property
    def known(self) -> Mapping[str, KnownWay]:
        """The ways after the events so far, by release: what the journal keeps with them."""
        return self._transitions.known

    def drain_events(self) -> list[WatchEvent]:
        """Return the events since the last call, in their order."""
        return self._transitions.drain()

    def set_metadata(self, ledger: MetadataLedger, now_ms: int) -> None:
        """Set metadata that was loaded at once (`load_ledger`)."""
        self._ledger = ledger
        self._has_metadata = True
        self._note_ways(now_ms)

    def append_metadata(self, batches: Iterable[MetadataBatch], now_ms: int) -> None:
        """Apply batches one by one, so that each event has its record. Raises RecordError."""
        for batch in batches:
            before, version = self._ledger.image.features.metadata_version, self._ledger.index.version
            self._ledger.append(batch)
            self._note_level(before, batch.timestamp)
            if self._ledger.index.version != version:
                self._note_ways(batch.timestamp)
        self._ends.add(now_ms, self._ledger.end_offset)

    def replace_metadata(self, snapshot: Snapshot, now_ms: int) -> None:
        """Apply a snapshot that has replaced the log behind what was read. Raises RecordError."""
        before = self._ledger.image.features.metadata_version
        self._ledger.replace(snapshot)
        # A lowering is committed by a snapshot: no record that is read says so.
        written_ms = snapshot.provenance.timestamp
        self._note_level(before, written_ms if written_ms >= 0 else now_ms)
        self._note_ways(now_ms)

    def note_clock(self, batch_ms: int, now_ms: int) -> None:
        """Note that a batch was written just now, at `batch_ms` by the controller's clock."""
        self._clock = batch_ms - now_ms

    def add_batches(self, partition: TopicPartition, batches: Sequence[RecordBatch], now_ms: int) -> None:
        """Apply batches of a partition of a coordinators' topic. Raises RemoteProtocolError."""
        version = self._groups.version
        self._groups.add(partition, batches)
        if self._groups.version != version and self._was_read(GROUPS):
            self._note_ways(now_ms, at=f"{partition}@{batches[-1].end_offset}")

    def forget_partition(self, partition: TopicPartition) -> None:
        """Forget a partition of a coordinators' topic, which is then read from its start."""
        self._groups.forget(partition)
        self._sources[GROUPS if partition.topic == CONSUMER_OFFSETS else TRANSACTIONS].as_of_ms = None

    def observe(self, observation: Observation, now_ms: int) -> None:
        """Set what the nodes answered."""
        self._observation = observation
        self.read(NODES, now_ms)
        self._note_blockers(now_ms)

    def read(self, source: str, now_ms: int, lag: int = 0) -> None:
        """Note that a source was read, to its end if `lag` is 0."""
        was_read = self._was_read(source)
        self._sources[source].succeeded(now_ms, lag)
        if source == METADATA:
            self._ends.add(now_ms, self._ledger.end_offset)
        if not was_read and lag == 0:
            # No record did it, and the log may end where it ended at an earlier event.
            self._note_ways(now_ms, at=f"ms{now_ms}")

    def failed(self, source: str, reason: str, needs: str | None = None) -> None:
        """Note that a source could not be read; `needs`: the right that is missing."""
        self._sources[source].failed(reason, needs)

    def findings(self, now_ms: int) -> Findings:
        """Return all that is known."""
        sources = tuple(source.source(now_ms) for source in self._sources.values())
        nodes = node_states(self._ledger.image if self._has_metadata else None, self._observation)
        if not self._has_metadata:
            unknown = self._unknown(now_ms)
            return Findings(
                cluster=self.name,
                cluster_id=self.cluster_id,
                at_ms=now_ms,
                is_fresh=False,
                sources=sources,
                metadata_version=None,
                ways=tuple(unknown_way(target, unknown) for target in self._targets),
                nodes=nodes,
            )
        known, image = self._known(now_ms), self._ledger.image
        _, groups, transactions = self._all_rows()
        lowest, forced_by = self._ledger.index.lowest_level(image)
        level = image.features.metadata_version
        return Findings(
            cluster=self.name,
            cluster_id=self.cluster_id,
            at_ms=now_ms,
            is_fresh=all(source.is_fresh for source in sources),
            sources=sources,
            metadata_version=None if level is None else str(level),
            features=feature_states(image, known.kraft_version),
            ways=tuple(known.way(number) for number in range(len(self._targets))),
            lowest=LowestLevel(level=lowest.level, name=str(lowest), forced_by=forced_by),
            losses=known.view.shown,
            loss_count=known.view.count,
            groups=tuple(groups[:ROWS_SHOWN]),
            group_count=len(groups),
            groups_by_type=self._groups.groups_by_type(),
            transactions=tuple(transactions[:ROWS_SHOWN]),
            transaction_count=len(transactions),
            nodes=nodes,
            drift=tuple(self._drift(image, known, nodes)),
            counts={"topics": len(image.topics.by_name), "brokers": len(image.cluster.brokers)},
        )

    def _drift(self, image: MetadataImage, known: Known, nodes: Sequence[NodeState]) -> Iterable[Drift]:
        found: list[Drift] = []
        observed_ms = self._sources[NODES].as_of_ms
        if known.nodes_are_fresh and self._observation is not None and observed_ms is not None:
            found += drifts(image, self._observation, nodes, self._ends, observed_ms)
        if self._clock is not None and abs(self._clock) > CLOCK_MS:
            found.append(clock_drift(self._clock))
        return found

    def _known(self, now_ms: int | None) -> Known:
        """Return what verdicts are made of; without a time, what was read counts, however long ago."""
        _, groups, transactions = self._all_rows()
        return Known(
            targets=self._targets,
            image=self._ledger.image,
            index=self._ledger.index,
            view=self._losses(),
            observation=self._observation,
            kraft_version=kraft_version(self._observation),
            use=coordinator_use(groups, transactions),
            connection=self._connection,
            metadata_is_fresh=self._counts(METADATA, now_ms),
            groups_are_fresh=self._counts(GROUPS, now_ms),
            nodes_are_fresh=self._counts(NODES, now_ms),
            unknown=() if now_ms is None else self._unknown(now_ms),
        )

    def _counts(self, source: str, now_ms: int | None) -> bool:
        if now_ms is not None:
            return self._sources[source].is_fresh(now_ms)
        return self._has_metadata if source == METADATA else self._was_read(source)

    def _was_read(self, source: str) -> bool:
        return self._sources[source].as_of_ms is not None

    def _unknown(self, now_ms: int) -> tuple[str, ...]:
        sources = (source.source(now_ms) for source in self._sources.values())
        return tuple(source.reason_unknown(now_ms) for source in sources if not source.is_fresh)

    def _losses(self) -> LossesView:
        versions = (self._ledger.index.version, self._groups.version)
        if self._view is None or self._view[0] != versions:
            self._view = versions, LossesView(self._targets, self._ledger.index, self._groups, self._connection)
        return self._view[1]

    def _all_rows(self) -> tuple[int, list[GroupState], list[OpenTransaction]]:
        if self._rows is None or self._rows[0] != self._groups.version:
            self._rows = self._groups.version, self._groups.group_states(), self._groups.transactions()
        return self._rows

    def _note_level(self, before: MetadataVersion | None, at_ms: int) -> None:
        """Note that metadata.version is another one than before."""
        after = self._ledger.image.features.metadata_version
        if before is not None and after is not None and before != after:
            at = f"{METADATA_LOG}@{self._ledger.end_offset}"
            self._transitions.level_changed(str(before), str(after), at=at, at_ms=at_ms)

    def _note_ways(self, at_ms: int, at: str | None = None) -> None:
        """Note ways that were closed or opened by what was read."""
        own = self._ledger.image.features.metadata_version
        if not self._has_metadata or own is None:
            return
        at = at or f"{METADATA_LOG}@{self._ledger.end_offset}"
        index, groups_count = self._ledger.index, self._was_read(GROUPS)
        for number, target in enumerate(self._targets):
            word = target.release.word
            if target.metadata_version >= own:
                # Once the level has risen again, closing it is news again.
                self._transitions.forget(word)
                continue
            is_closed = index.has_any(index.rules_of(number).lost) or (groups_count and self._groups.has_losses(number))
            if not (is_closed or groups_count) or not self._transitions.is_news(word, is_closed=is_closed):
                continue
            closing = self._losses().point_of_no_return(number) if is_closed else None
            if closing is None:
                self._transitions.way_opened(word, at, at_ms)
            else:
                self._transitions.way_closed(word, closing, at, at_ms)

    def _note_blockers(self, now_ms: int) -> None:
        """Note ways that something has come into, or gone from."""
        if not self._has_metadata:
            return
        known = self._known(None)
        for number in range(len(self._targets)):
            if known.is_below(number):
                way = known.way(number)
                self._transitions.blockers(way.release, tuple(map(str, way.blockers)), f"ms{now_ms}", now_ms)
