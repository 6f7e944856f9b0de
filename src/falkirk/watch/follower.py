"""Follows one cluster: fetches its logs, asks its nodes, and gives what comes to its state; reconnects for ever.

Politeness: one connection a node and listener, one request at a time on each, at most `fetch_bytes_per_s` bytes of
logs, the nodes asked every `nodes_interval_s`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientError
from falkirk.metadata.records.errors import RecordError
from falkirk.mirror.cluster_mirror import check_same_cluster, find_controllers, find_leader
from falkirk.mirror.errors import DivergedLogError, MirrorError
from falkirk.mirror.metadata_mirror import mirror_metadata
from falkirk.mirror.topic_mirror import TopicMirrors
from falkirk.operations.lift_observation import Observation
from falkirk.protocol.errors import ProtocolError
from falkirk.versions.negotiation import UnsupportedApiError
from falkirk.versions.release import CONSUMER_OFFSETS, TRANSACTION_STATE
from falkirk.watch.copies import MetadataTail, PartitionTail
from falkirk.watch.core.cluster import ClusterState, load_ledger
from falkirk.watch.core.freshness import GROUPS, METADATA, NODES, TRANSACTIONS
from falkirk.watch.rights import missing_right

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from falkirk.client.admin import AsyncAdmin
    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.mirror.cluster_mirror import LiveSource, QuorumLeader
    from falkirk.protocol.topic_partition import TopicPartition
    from falkirk.watch.core.metadata_ledger import MetadataLedger, Snapshot
    from falkirk.watch.journal import Bookmark

_SOURCE_OF_TOPIC: Final = {CONSUMER_OFFSETS: GROUPS, TRANSACTION_STATE: TRANSACTIONS}
_EXPECTED: Final = (ClientError, MirrorError, UnsupportedApiError, RecordError, ProtocolError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a cluster is asked, and how much is fetched of it at most."""

    fetch_bytes_per_s: int = 32 * 1024 * 1024
    metadata_interval_s: float = 0.1
    topics_interval_s: float = 1.0
    nodes_interval_s: float = 5.0
    backoff_s: float = 1.0
    fresh_s: float = 15.0


class Follower:
    """One cluster. `changed` is called after whatever may have changed its findings.

    `bookmark` returns where the journal left the cluster; `begun` is called with the id of the cluster before the one
    that begins now, and with whether it is the same id with another log.
    """

    def __init__(
        self,
        name: str,
        source: LiveSource,
        *,
        connection: str,
        pace: Pace,
        folder: Path,
        changed: Callable[[Follower], None],
        bookmark: Callable[[str], Bookmark | None],
        begun: Callable[[Follower, str, bool], None],
    ) -> None:
        self.name = name
        self.state = ClusterState(name, fresh_ms=int(pace.fresh_s * 1000), connection=connection)
        self._source = source
        self._pace = pace
        self._folder = folder
        self._changed = changed
        self._bookmark = bookmark
        self._begun = begun
        self._tail = MetadataTail(folder)
        self._topics: dict[str, TopicMirrors] = {}
        # Set once the groups were read, or could not be.
        self._groups_tried = asyncio.Event()
        self._due_s = 0.0
        self._resume_offset = 0

    async def run(self) -> None:
        """Follow until cancelled."""
        while True:
            try:
                async with AsyncExitStack() as stack:
                    await self._follow(stack)
            except* _EXPECTED as group:
                self._note(group.exceptions[0])
            await asyncio.sleep(self._pace.backoff_s)

    def _note(self, error: BaseException) -> None:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        assert isinstance(error, Exception)
        self._failed(METADATA, error)
        if isinstance(error, DivergedLogError) and self.state.cluster_id is not None:
            self._begin(self.state.cluster_id, is_rebuilt=True)

    async def _follow(self, stack: AsyncExitStack) -> None:
        """Connect, then follow until something fails: who leads may be another one then."""
        source = self._source
        brokers = await stack.enter_async_context(source.brokers_admin()) if source.brokers else None
        endpoints = source.controllers or await find_controllers(brokers)
        controllers = await stack.enter_async_context(source.controllers_admin(endpoints))
        leader = await find_leader(controllers, brokers)
        if brokers is not None:
            await check_same_cluster(leader, brokers)
        if leader.cluster_id != self.state.cluster_id:
            self._begin(leader.cluster_id)
        if self._tail.end_offset != self.state.end_offset:
            # What was fetched could not be applied: it is fetched and tried again.
            self._tail = MetadataTail(self._folder, self.state.end_offset, self.state.epoch)
        self._groups_tried.clear()
        if brokers is None:
            self._groups_tried.set()
        async with asyncio.TaskGroup() as tasks:
            if brokers is not None:
                for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
                    tasks.create_task(self._follow_topic(topic, brokers))
                tasks.create_task(self._ask_nodes(brokers, controllers))
            tasks.create_task(self._follow_metadata(leader))

    def _begin(self, cluster_id: str, *, is_rebuilt: bool = False) -> None:
        """Begin with a cluster: a new one, the one of the journal, or one that was built anew."""
        bookmark = self._bookmark(self.name)
        before = self.state.cluster_id or ("" if bookmark is None else bookmark.cluster_id)
        is_known = bookmark is not None and bookmark.cluster_id == cluster_id and not is_rebuilt
        self.state.begin(cluster_id, bookmark.known if bookmark is not None and is_known else {})
        self._resume_offset = bookmark.end_offset if bookmark is not None and is_known else 0
        self._tail = MetadataTail(self._folder)
        self._topics.clear()
        if before and not is_known:
            self._begun(self, before, is_rebuilt)
        self._changed(self)

    async def _follow_metadata(self, leader: QuorumLeader) -> None:
        epoch = leader.quorum.leader_epoch
        while True:
            began_s, caught_up = time.monotonic(), self._tail.end_offset > 0
            await mirror_metadata(leader.connection, leader.cluster_id, epoch, self._tail, self._pause)
            snapshot, batches = self._tail.drain()
            now_ms = _now_ms()
            if self.state.end_offset == 0:
                if self._tail.end_offset < self._resume_offset:
                    self._begin(leader.cluster_id, is_rebuilt=True)
                    continue
                batches = await self._load(snapshot, batches)
            elif snapshot is not None:
                self.state.replace_metadata(snapshot, now_ms)
            self.state.append_metadata(batches, now_ms)
            if batches and caught_up:
                self.state.note_clock(batches[-1].timestamp, now_ms)
            self.state.read(METADATA, _now_ms())
            self._changed(self)
            await asyncio.sleep(max(self._pace.metadata_interval_s - (time.monotonic() - began_s), 0))

    async def _load(self, snapshot: Snapshot | None, batches: list[MetadataBatch]) -> list[MetadataBatch]:
        """Load the metadata at once; return the batches behind the bookmark, which are applied one by one.

        So what happened while nobody watched has its events, as far as the log still has it. Whether a way opened
        depends on the groups, too: they are waited for before.
        """
        at_once = batches
        if self._resume_offset:
            at_once = [batch for batch in batches if batch.end_offset <= self._resume_offset]
        ledger = await asyncio.to_thread(_without_cycle_search, snapshot, at_once)
        self.state.set_metadata(ledger, _now_ms())
        if len(at_once) < len(batches):
            await self._groups_tried.wait()
        return batches[len(at_once) :]

    async def _follow_topic(self, topic: str, brokers: AsyncAdmin) -> None:
        """Follow a coordinators' topic; what is wrong with it leaves the others alone."""
        source = _SOURCE_OF_TOPIC[topic]
        while True:
            mirrors = self._topics.get(topic)
            if mirrors is None:
                mirrors = self._topics[topic] = TopicMirrors((topic,), self._open_tail, self._pause)
            try:
                await mirrors.refresh(brokers)
            except _EXPECTED as error:
                self._failed(source, error, topic=topic)
            else:
                self.state.read(source, _now_ms())
            if source == GROUPS:
                self._groups_tried.set()
            self._changed(self)
            await asyncio.sleep(self._pace.topics_interval_s)

    def _open_tail(self, partition: TopicPartition) -> PartitionTail:
        return PartitionTail(
            lambda batches: self.state.add_batches(partition, batches, _now_ms()),
            lambda: self.state.forget_partition(partition),
        )

    async def _ask_nodes(self, brokers: AsyncAdmin, controllers: AsyncAdmin) -> None:
        while True:
            try:
                observation = await observe_nodes(brokers, controllers)
            except _EXPECTED as error:
                self._failed(NODES, error)
            else:
                self.state.observe(observation, _now_ms())
            self._changed(self)
            await asyncio.sleep(self._pace.nodes_interval_s)

    def _failed(self, source: str, error: Exception, *, topic: str | None = None) -> None:
        reason = " ".join(str(error).split())
        self.state.failed(source, reason, missing_right(error, self._source, topic=topic))
        self._changed(self)

    async def _pause(self, fetched_bytes: int) -> None:
        """Wait so long that no more is fetched than the pace allows, over all connections."""
        now_s = time.monotonic()
        self._due_s = max(self._due_s, now_s) + fetched_bytes / self._pace.fetch_bytes_per_s
        if self._due_s - now_s > self._pace.metadata_interval_s:
            await asyncio.sleep(self._due_s - now_s)


async def observe_nodes(brokers: AsyncAdmin, controllers: AsyncAdmin) -> Observation:
    """Ask every node what it supports, and the quorum how far its replicas are. Raises ClientError."""
    cluster = await brokers.describe_cluster(include_fenced=True)
    leader = await find_leader(controllers, brokers)
    answers = dict(await brokers.api_versions(cluster.nodes))
    listed = set(answers)
    others = [node for node in leader.controllers.nodes if node.node_id not in listed]
    answers |= await controllers.api_versions(others)
    return Observation(
        cluster_id=leader.cluster_id,
        bootstrap=(),
        brokers=cluster.nodes,
        controllers=leader.controllers.nodes,
        quorum=leader.quorum,
        answers=answers,
    )


def _without_cycle_search(snapshot: Snapshot | None, batches: list[MetadataBatch]) -> MetadataLedger:
    """Load with the garbage collector off: an image has no cycles, and searching them takes a sixth more time."""
    gc.disable()
    try:
        return load_ledger(snapshot, batches)
    finally:
        gc.enable()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
