"""`--wait`: until every node has a change of features, what may be started after it, and what is left to do."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.failure import CommandFailedError
from falkirk.client.errors import ClientError
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import all_releases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_update import FeatureUpdate
    from falkirk.client.node_versions import NodeVersions
    from falkirk.client.quorum_description import QuorumDescription

_POLL_S: Final = 0.5
# An older release does not start beside one of a level that it does not know.
_BOOTSTRAP: Final = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class DowngradeWait:
    """A result for `falkirk.cli.output`. `reasons`: what each node still lacked when the time was over."""

    end_offset: int
    nodes: tuple[int, ...]
    finalized: Mapping[str, int]
    lowers_metadata_version: bool
    reasons: tuple[str, ...]

    @property
    def releases(self) -> tuple[str, ...]:
        """Give the releases that run what is finalized now."""
        known = (release for release in all_releases() if release.tables.kraft is not None)
        return tuple(release.name for release in known if not release.unsupported_features(self.finalized))

    @property
    def failure(self) -> CommandFailedError | None:
        """Give what the command has to end with; None if every node has the change."""
        if not self.reasons:
            return None
        return CommandFailedError(
            "\n".join(("the features are changed, but not every node has it yet:", *self.reasons))
        )

    def text(self) -> Iterator[str]:
        """Say what may be started now, and what is left to do on each node."""
        if self.reasons:
            return
        yield f"Every node has the change, up to offset {self.end_offset}: {', '.join(map(str, self.nodes))}."
        yield f"May be started now, one node after the other: {', '.join(self.releases)}."
        for node_id in self.nodes if self.lowers_metadata_version else ():
            where = f"{_BOOTSTRAP} in its metadata log directory"
            yield f"  node {node_id}: stop it, see that {where} is at the new level or gone, start the other release"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields."""
        return {
            "end_offset": self.end_offset,
            "nodes": list(self.nodes),
            "releases": list(self.releases),
            "left_to_do": {
                str(node_id): [_BOOTSTRAP] if self.lowers_metadata_version else [] for node_id in self.nodes
            },
            "missing": list(self.reasons),
        }


async def await_downgrade(admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], timeout_s: float) -> DowngradeWait:
    """Ask until every replica of the metadata log is past what was committed, and every node tells the new levels.

    A replica that is past it has lowered its metadata: by the record itself, or by the snapshot behind it.
    """
    clock = asyncio.get_running_loop().time
    deadline_s = clock() + timeout_s
    end_offset = (await admin.describe_quorum()).high_watermark
    while True:
        quorum = await admin.describe_quorum()
        nodes = (await admin.describe_cluster()).nodes
        versions = await admin.api_versions(nodes)
        reasons = (*_lagging(quorum, end_offset), *_unaware(versions, updates))
        if not reasons or clock() + _POLL_S >= deadline_s:
            break
        await asyncio.sleep(_POLL_S)
    finalized = (await admin.describe_features()).finalized_features
    return DowngradeWait(
        end_offset=end_offset,
        nodes=tuple(sorted({*quorum.voters, *quorum.observers, *versions})),
        finalized={name: levels.max_version_level for name, levels in finalized.items()},
        lowers_metadata_version=METADATA_VERSION in updates,
        reasons=reasons,
    )


def _lagging(quorum: QuorumDescription, end_offset: int) -> Iterator[str]:
    for kind, replicas in (("voter", quorum.voters), ("observer", quorum.observers)):
        for node_id, offset in sorted(replicas.items()):
            if offset < end_offset:
                yield f"{kind} {node_id} has the metadata log up to {max(offset, 0)}, not up to {end_offset}"


def _unaware(versions: Mapping[int, NodeVersions | ClientError], updates: Mapping[str, FeatureUpdate]) -> Iterator[str]:
    for node_id, told in sorted(versions.items()):
        if isinstance(told, ClientError):
            yield f"node {node_id} cannot be asked: {told}"
            continue
        for name, update in updates.items():
            finalized = told.finalized_features.get(name)
            level = 0 if finalized is None else finalized.max_version_level
            if level != update.max_version_level:
                yield f"node {node_id} tells {name} {level}, not {update.max_version_level}"
