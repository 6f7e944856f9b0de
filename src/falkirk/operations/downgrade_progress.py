"""Which nodes have a change of features: by their own report, or by the log end offset that the leader knows."""

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
_NOT_OURS: Final = "it does not report its snapshots"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedChange:
    """The requested levels. `end_offset` is at or after the end of the records that set them."""

    updates: Mapping[str, FeatureUpdate]
    end_offset: int

    @property
    def metadata_level(self) -> int | None:
        """The requested metadata.version; None if the change leaves it alone."""
        update = self.updates.get(METADATA_VERSION)
        return None if update is None else update.max_version_level


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeProgress:
    """How far a change is. `nodes`: all that must have it; `missing`: a sentence for each thing that they lack.

    `by_log_end`: nodes of which only the log end offset is known, and why. `ghosts`: registered brokers that are fenced
    and do not answer; nobody waits for them.
    """

    nodes: tuple[int, ...]
    missing: tuple[str, ...]
    by_log_end: Mapping[int, str]
    ghosts: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswers:
    """The answers of a cluster's nodes at one time.

    `listed`: nodes in the answer of DescribeCluster, `fenced` of them are fenced brokers. `answers` holds every node
    whose address is known, by node id; `answered_before`: nodes that answered at an earlier time.
    """

    quorum: QuorumDescription
    listed: Collection[int]
    fenced: Collection[int]
    answers: Mapping[int, NodeVersions | ClientError]
    answered_before: Collection[int] = ()

    def progress(self, wanted: WantedChange) -> ChangeProgress:
        """Return which nodes have the change, and what the others lack."""
        ghosts = tuple(sorted(filter(self._is_ghost, self.fenced)))
        everyone = {*self.quorum.voters, *self.quorum.observers, *self.answers}
        nodes = tuple(sorted(everyone - set(ghosts)))
        log_end = self._required_log_end(wanted)
        missing: list[str] = []
        by_log_end: dict[int, str] = {}
        for node_id in nodes:
            answer = self.answers.get(node_id)
            if isinstance(answer, ClientError) and self._must_answer(node_id):
                missing.append(f"node {node_id} does not answer: {answer}")
                continue
            progress = None if answer is None or isinstance(answer, ClientError) else answer.metadata_progress
            if progress is not None:
                missing += _missing(node_id, progress, wanted)
            else:
                by_log_end[node_id] = _reason_by_log_end(answer)
                missing += self._lagging(node_id, log_end)
            if answer is not None and not isinstance(answer, ClientError):
                missing += _unaware(node_id, answer, wanted.updates)
        return ChangeProgress(nodes=nodes, missing=tuple(missing), by_log_end=by_log_end, ghosts=ghosts)

    def _is_ghost(self, node_id: int) -> bool:
        return node_id not in self.quorum.voters and isinstance(self.answers.get(node_id), ClientError)

    def _must_answer(self, node_id: int) -> bool:
        """Return False for a node that may be out of reach: a controller's listener may be closed to clients."""
        return node_id in self.listed or node_id in self.answered_before

    def _required_log_end(self, wanted: WantedChange) -> int:
        """Return where the log of a node without a report must end: behind the change and the leader's snapshot.

        Only falkirk's nodes fetch the record that lowers metadata.version; others get past it by the snapshot alone.
        """
        leader = self.answers.get(self.quorum.leader_id)
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


def _reason_by_log_end(answer: NodeVersions | ClientError | None) -> str:
    if answer is None:
        return _NO_ADDRESS
    return f"it does not answer: {answer}" if isinstance(answer, ClientError) else _NOT_OURS


def _unaware(node_id: int, answer: NodeVersions, updates: Mapping[str, FeatureUpdate]) -> Iterator[str]:
    for name, update in updates.items():
        finalized = answer.finalized_features.get(name)
        level = 0 if finalized is None else finalized.max_version_level
        if level != update.max_version_level:
            yield f"node {node_id} tells {name} {level}, not {update.max_version_level}"
