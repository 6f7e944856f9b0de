"""What each node still lacks of a downgrade, by what it tells itself, or by what the leader knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import ClientError
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from falkirk.client.feature_update import FeatureUpdate
    from falkirk.client.node_versions import NodeVersions
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.protocol.metadata_progress_tags import MetadataProgress

_NO_ADDRESS: Final = "its address is not known here"
_NOT_OURS: Final = "it does not tell of its snapshots"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChange:
    """The levels that were asked for, and an offset that is not before the end of the records that set them."""

    updates: Mapping[str, FeatureUpdate]
    end_offset: int

    @property
    def metadata_level(self) -> int | None:
        """The metadata.version that was asked for; None if it was not to change."""
        update = self.updates.get(METADATA_VERSION)
        return None if update is None else update.max_version_level


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """`reasons`: what nodes lack. `by_log_end`: who is judged by its log end alone, and why. `ghosts`: not waited for.

    A ghost is a broker that is registered and fenced, and does not answer.
    """

    nodes: tuple[int, ...]
    reasons: tuple[str, ...]
    by_log_end: Mapping[int, str]
    ghosts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLook:
    """What nodes tell at one time. `listed`: those that the bootstrap servers tell of, `fenced` ones among them.

    `told` has the answers of all whose address is known, by node id. `have_told`: who has answered before.
    """

    quorum: QuorumDescription
    listed: Collection[int]
    fenced: Collection[int]
    told: Mapping[int, NodeVersions | ClientError]
    have_told: Collection[int] = ()

    def judge(self, wanted: WantedChange) -> Judgement:
        """Say what every node lacks."""
        ghosts = tuple(sorted(filter(self._is_ghost, self.fenced)))
        everyone = {*self.quorum.voters, *self.quorum.observers, *self.told}
        nodes = tuple(sorted(everyone - set(ghosts)))
        log_end = self._wanted_log_end(wanted)
        reasons: list[str] = []
        by_log_end: dict[int, str] = {}
        for node_id in nodes:
            told = self.told.get(node_id)
            if isinstance(told, ClientError) and self._must_answer(node_id):
                reasons.append(f"node {node_id} cannot be asked: {told}")
                continue
            progress = None if told is None or isinstance(told, ClientError) else told.metadata_progress
            if progress is not None:
                reasons += _missing(node_id, progress, wanted)
            else:
                by_log_end[node_id] = _why_by_log_end(told)
                reasons += self._lagging(node_id, log_end)
            if told is not None and not isinstance(told, ClientError):
                reasons += _unaware(node_id, told, wanted.updates)
        return Judgement(nodes=nodes, reasons=tuple(reasons), by_log_end=by_log_end, ghosts=ghosts)

    def _is_ghost(self, node_id: int) -> bool:
        return node_id not in self.quorum.voters and isinstance(self.told.get(node_id), ClientError)

    def _must_answer(self, node_id: int) -> bool:
        """Say whether a node can be reached from here: a controller's listener may be closed to clients."""
        return node_id in self.listed or node_id in self.have_told

    def _wanted_log_end(self, wanted: WantedChange) -> int:
        """Give where a log must end, of a node that tells nothing else: behind the change, and the leader's snapshot.

        Nobody but nodes of ours is given the record that lowers the level: others get so far by the snapshot alone.
        """
        leader = self.told.get(self.quorum.leader_id)
        progress = None if leader is None or isinstance(leader, ClientError) else leader.metadata_progress
        if wanted.metadata_level is None or progress is None or progress.snapshot_end_offset is None:
            return wanted.end_offset
        return max(wanted.end_offset, progress.snapshot_end_offset)

    def _lagging(self, node_id: int, end_offset: int) -> Iterator[str]:
        for kind, replicas in (("voter", self.quorum.voters), ("observer", self.quorum.observers)):
            offset = replicas.get(node_id)
            if offset is not None and offset < end_offset:
                yield f"{kind} {node_id} has the metadata log up to {max(offset, 0)}, not up to {end_offset}"


def _missing(node_id: int, progress: MetadataProgress, wanted: WantedChange) -> Iterator[str]:
    if progress.applied_offset < wanted.end_offset:
        yield f"node {node_id} has applied the metadata log up to {progress.applied_offset}, not up to " + str(
            wanted.end_offset
        )
        return
    level = wanted.metadata_level
    if level is None:
        return
    if progress.snapshot_metadata_version is not None and progress.snapshot_metadata_version > level:
        yield (
            f"node {node_id} has no snapshot at the new level yet: its newest one, up to "
            f"{progress.snapshot_end_offset}, is at {progress.snapshot_metadata_version}"
        )
    elif progress.holds_lowering:
        yield f"node {node_id} has not cleaned its log through the change yet: it begins at {progress.log_start_offset}"


def _why_by_log_end(told: NodeVersions | ClientError | None) -> str:
    if told is None:
        return _NO_ADDRESS
    return f"it cannot be asked: {told}" if isinstance(told, ClientError) else _NOT_OURS


def _unaware(node_id: int, told: NodeVersions, updates: Mapping[str, FeatureUpdate]) -> Iterator[str]:
    for name, update in updates.items():
        finalized = told.finalized_features.get(name)
        level = 0 if finalized is None else finalized.max_version_level
        if level != update.max_version_level:
            yield f"node {node_id} tells {name} {level}, not {update.max_version_level}"
