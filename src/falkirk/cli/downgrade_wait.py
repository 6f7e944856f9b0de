"""`--wait`: until every node has a change of features, what may be started after it, and what is left to do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.downgrade_judgement import ClusterLook, Judgement, WantedChange
from falkirk.cli.failure import CommandFailedError
from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ClientError
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_update import FeatureUpdate
    from falkirk.versions.release import Release

_POLL_S: Final = 0.5
# An older release does not start beside one of a level that it does not know.
_BOOTSTRAP: Final = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class DowngradeWait:
    """A result for `falkirk.cli.output`."""

    end_offset: int
    judgement: Judgement
    finalized: Mapping[str, int]
    lowers_metadata_version: bool

    @property
    def releases(self) -> tuple[Release, ...]:
        """Give the releases that run what is finalized now."""
        known = (release for release in all_releases() if release.tables.kraft is not None)
        return tuple(release for release in known if not release.unsupported_features(self.finalized))

    @property
    def failure(self) -> CommandFailedError | None:
        """Give what the command has to end with; None if every node has the change."""
        if not self.judgement.reasons:
            return None
        return CommandFailedError(
            "\n".join(("the features are changed, but not every node has it yet:", *self.judgement.reasons))
        )

    def text(self) -> Iterator[str]:
        """Say what may be started now, and what is left to do on each node."""
        if self.judgement.reasons:
            return
        nodes = ", ".join(map(str, self.judgement.nodes))
        has = "the new snapshot and nothing from before it" if self.lowers_metadata_version else "the change"
        yield f"Every node has {has}, up to offset {self.end_offset}: {nodes}."
        for node_id, reason in self.judgement.by_log_end.items():
            yield f"  node {node_id} is judged by the end of its metadata log: {reason}"
        yield f"May be started now, one node after the other: {', '.join(release.name for release in self.releases)}."
        for node_id, files in self._left_to_do.items():
            for file in files:
                see_to = f"see that {file} in its metadata log directory is at the new level or gone"
                yield f"  node {node_id}: stop it, {see_to}, start the other release"
        for node_id in self.judgement.ghosts:
            yield (
                f"  broker {node_id} is registered, but not alive, and was not waited for: start it as it was, or take "
                f"it out with kafka-cluster unregister --id {node_id}"
            )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields."""
        return {
            "end_offset": self.end_offset,
            "nodes": list(self.judgement.nodes),
            "by_log_end": {str(node_id): reason for node_id, reason in self.judgement.by_log_end.items()},
            "ghosts": list(self.judgement.ghosts),
            "releases": [release.name for release in self.releases],
            "left_to_do": {str(node_id): list(files) for node_id, files in self._left_to_do.items()},
            "missing": list(self.judgement.reasons),
        }

    @property
    def _left_to_do(self) -> Mapping[int, tuple[str, ...]]:
        """Give the files of each node that another release may stumble over."""
        reads_bootstrap = any(not release.bootstraps_from_snapshot for release in self.releases)
        files = (_BOOTSTRAP,) if self.lowers_metadata_version and reads_bootstrap else ()
        return dict.fromkeys(self.judgement.nodes, files)


async def await_downgrade(admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], timeout_s: float) -> DowngradeWait:
    """Ask until every node tells that it has the change.

    Where metadata.version was lowered a node of ours has it when its snapshot stands behind the change and its log is
    cleaned through it; a node that tells nothing of that, when its log ends behind the change.
    """
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + timeout_s
    wanted = WantedChange(updates=updates, end_offset=(await admin.describe_quorum()).high_watermark)
    have_told: set[int] = set()
    while True:
        look = await _look(admin, frozenset(have_told))
        have_told |= {node_id for node_id, told in look.told.items() if not isinstance(told, ClientError)}
        judgement = look.judge(wanted)
        if not judgement.reasons or clock() + _POLL_S >= deadline_s:
            break
        await asyncio.sleep(_POLL_S)
    finalized = (await admin.describe_features()).finalized_features
    return DowngradeWait(
        end_offset=wanted.end_offset,
        judgement=judgement,
        finalized={name: levels.max_version_level for name, levels in finalized.items()},
        lowers_metadata_version=wanted.metadata_level is not None,
    )


async def _look(admin: AsyncAdmin, have_told: frozenset[int]) -> ClusterLook:
    quorum = await admin.describe_quorum()
    listed = {node.node_id: node for node in (await admin.describe_cluster(include_fenced=True)).nodes}
    voters = {
        node_id: ClusterNode(node_id=node_id, endpoint=endpoint) for node_id, endpoint in quorum.voter_endpoints.items()
    }
    told = await admin.api_versions((voters | listed).values(), with_progress=True)
    return ClusterLook(
        quorum=quorum,
        listed=frozenset(listed),
        fenced=frozenset(node_id for node_id, node in listed.items() if node.is_fenced),
        told=told,
        have_told=have_told,
    )
