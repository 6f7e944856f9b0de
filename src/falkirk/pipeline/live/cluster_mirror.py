"""A running cluster as one data directory: its metadata log, and the topics of its coordinators.

    mirror = ClusterMirror(Path("warehouse-live"), LiveSource(brokers=parse_servers("broker:9092")))
    directory = mirror.refresh()        # read it as a node's data directory; each refresh makes it grow

The directory is that of the node that led the quorum when it was created. Everything in it is committed, so it stands
for the whole cluster, whoever the other voters are (`log_dir_names.LIVE_MARKER`).
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.client.config import ClientConfig
from falkirk.client.errors import ConnectionFailedError, NoControllerError, NodeRefusedError, NoNodeReachedError
from falkirk.client.event_loop import run
from falkirk.pipeline.errors import LiveSourceError
from falkirk.pipeline.live.metadata_mirror import mirror_metadata
from falkirk.pipeline.live.partition_mirror import PartitionMirror
from falkirk.pipeline.live.topic_mirror import MOVED, TopicMirrors
from falkirk.storage.log_dir_names import LIVE_MARKER
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties, parse_meta_properties
from falkirk.storage.partition_directory import GROUPS_TOPIC, METADATA_DIRECTORY, TRANSACTIONS_TOPIC
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, format_quorum_state

if TYPE_CHECKING:
    from pathlib import Path

    from falkirk.protocol.endpoint import Endpoint

# How long a cluster may be without a leader, or unreachable, before we give up: rolling a node takes as long.
PATIENCE_S: Final = 60.0
_BACKOFF_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSource:
    """Bootstrap servers. Without `controllers`, brokers are asked for them; without `brokers`, no topic is fetched."""

    brokers: tuple[Endpoint, ...] = ()
    controllers: tuple[Endpoint, ...] = ()
    config: ClientConfig = field(default_factory=ClientConfig)


class ClusterMirror:
    """Mirrors one cluster into a directory below `folder` that is named after its id."""

    def __init__(self, folder: Path, source: LiveSource) -> None:
        assert source.brokers or source.controllers, "brokers or controllers are named"
        self._folder = folder
        self._source = source
        self._directory: Path | None = None
        self._metadata: PartitionMirror | None = None
        self._topics: TopicMirrors | None = None

    def refresh(self) -> Path:
        """Fetch what is new; return the directory. Raises ClientError, LiveSourceError, OSError."""
        return run(self._refresh())

    async def _refresh(self) -> Path:
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with AsyncExitStack() as stack:
                    return await self._refresh_once(stack)
            except (ConnectionFailedError, NoNodeReachedError, NoControllerError) as error:
                # A cluster that was never reached is most likely misspelled.
                if self._directory is None or time.monotonic() > deadline_s:
                    raise
                del error
            except NodeRefusedError as refusal:
                if refusal.error_code not in MOVED or time.monotonic() > deadline_s:
                    raise
            await asyncio.sleep(_BACKOFF_S)

    async def _refresh_once(self, stack: AsyncExitStack) -> Path:
        source, brokers = self._source, None
        if source.brokers:
            brokers = await stack.enter_async_context(AsyncAdmin(source.brokers, source.config))
        endpoints = source.controllers or await _controllers(brokers)
        controllers = await stack.enter_async_context(
            AsyncAdmin(endpoints, source.config, endpoint_type=EndpointType.CONTROLLER)
        )
        quorum = await controllers.describe_quorum()
        cluster = await controllers.describe_cluster()
        leader, cluster_id = cluster.node(quorum.leader_id), cluster.cluster_id
        if leader is None:
            raise NoControllerError((await controllers.any_node()).endpoint)
        assert cluster_id is not None, "a KRaft cluster has an id"
        if brokers is not None:
            other = (await brokers.describe_cluster()).cluster_id
            if other != cluster_id:
                raise LiveSourceError(f"the controllers are of cluster {cluster_id}, the brokers of {other}")
        directory = self._open(cluster_id, quorum.leader_id)
        assert self._metadata is not None
        assert self._topics is not None
        # Groups first, for they refer to topics: a topic deleted meanwhile is still in the metadata log.
        if brokers is not None:
            await self._topics.refresh(brokers)
        await mirror_metadata(controllers.connection(leader.endpoint), cluster_id, quorum.leader_epoch, self._metadata)
        state = QuorumState(
            data_version=0,
            leader_id=quorum.leader_id,
            leader_epoch=quorum.leader_epoch,
            current_voters=tuple(sorted(quorum.voters)),
        )
        (self._metadata.directory / QUORUM_STATE).write_bytes(format_quorum_state(state))
        return directory

    def _open(self, cluster_id: str, leader_id: int) -> Path:
        directory = self._folder / cluster_id
        if directory != self._directory:
            meta = directory / META_PROPERTIES
            if not meta.exists():
                directory.mkdir(parents=True, exist_ok=True)
                (directory / LIVE_MARKER).touch()
                made = make_meta_properties(
                    cluster_id=cluster_id,
                    node_id=leader_id,
                    directory_id=None,
                    now_ms=int(time.time() * 1000),
                )
                meta.write_bytes(format_meta_properties(made))
            parse_meta_properties(meta.read_bytes(), file=str(meta))
            self._metadata = PartitionMirror(directory / METADATA_DIRECTORY)
            self._topics = TopicMirrors(directory, (GROUPS_TOPIC, TRANSACTIONS_TOPIC))
            self._directory = directory
        return directory


async def _controllers(brokers: AsyncAdmin | None) -> tuple[Endpoint, ...]:
    """Ask a broker for the controllers' endpoints; brokers before 3.9 do not know them."""
    assert brokers is not None, "brokers or controllers are named"
    found = tuple((await brokers.describe_quorum()).voter_endpoints.values())
    if not found:
        raise LiveSourceError(
            "the brokers do not tell where the controllers listen: name them (--bootstrap-controller)"
        )
    return found
