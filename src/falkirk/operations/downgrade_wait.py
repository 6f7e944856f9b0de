"""Wait until every node has a change of features, and report what may be started then and what is left to do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ClientError
from falkirk.operations.downgrade_progress import ChangeProgress, ClusterAnswers, WantedChange
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_update import FeatureUpdate
    from falkirk.versions.release import Release

_POLL_S: Final = 0.5
# An older release does not start beside one of a level that it does not know.
_BOOTSTRAP: Final = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class DowngradeWait:
    """How the wait ended. `finalized`: the levels after it, by feature; `end_offset`: behind the change's records."""

    end_offset: int
    progress: ChangeProgress
    finalized: Mapping[str, int]
    lowers_metadata_version: bool

    @property
    def is_complete(self) -> bool:
        """True if every node has the change."""
        return not self.progress.missing

    @property
    def releases(self) -> tuple[Release, ...]:
        """The releases that support the finalized levels, oldest first."""
        known = (release for release in all_releases() if release.tables.kraft is not None)
        return tuple(release for release in known if not release.unsupported_features(self.finalized))

    @property
    def left_to_do(self) -> Mapping[int, tuple[str, ...]]:
        """The files of each node that must be at the new level or gone before another release starts on it."""
        reads_bootstrap = any(not release.bootstraps_from_snapshot for release in self.releases)
        files = (_BOOTSTRAP,) if self.lowers_metadata_version and reads_bootstrap else ()
        return dict.fromkeys(self.progress.nodes, files)


async def await_downgrade(admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], timeout_s: float) -> DowngradeWait:
    """Poll all nodes until each has the change, or the time is over.

    Where metadata.version was lowered, a node of falkirk's has the change when its snapshot ends behind it and its log
    is cleaned through it; a node that reports no progress, when its log ends behind it.
    """
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + timeout_s
    wanted = WantedChange(updates=updates, end_offset=(await admin.describe_quorum()).high_watermark)
    answered: set[int] = set()
    while True:
        cluster = await _ask(admin, frozenset(answered))
        answered |= {node_id for node_id, answer in cluster.answers.items() if not isinstance(answer, ClientError)}
        progress = cluster.progress(wanted)
        if not progress.missing or clock() + _POLL_S >= deadline_s:
            break
        await asyncio.sleep(_POLL_S)
    finalized = (await admin.describe_features()).finalized_features
    return DowngradeWait(
        end_offset=wanted.end_offset,
        progress=progress,
        finalized={name: levels.max_version_level for name, levels in finalized.items()},
        lowers_metadata_version=wanted.metadata_level is not None,
    )


async def _ask(admin: AsyncAdmin, answered_before: frozenset[int]) -> ClusterAnswers:
    quorum = await admin.describe_quorum()
    listed = {node.node_id: node for node in (await admin.describe_cluster(include_fenced=True)).nodes}
    voters = {
        node_id: ClusterNode(node_id=node_id, endpoint=endpoint) for node_id, endpoint in quorum.voter_endpoints.items()
    }
    return ClusterAnswers(
        quorum=quorum,
        listed=frozenset(listed),
        fenced=frozenset(node_id for node_id, node in listed.items() if node.is_fenced),
        answers=await admin.api_versions((voters | listed).values(), with_progress=True),
        answered_before=answered_before,
    )
