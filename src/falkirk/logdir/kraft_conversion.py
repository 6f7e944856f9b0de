"""kraft.version in a downgrade: at level 0 the voters move from the log into every node's configuration.

Source: KIP-853; releases before 3.9 read neither the control records nor version 1 of quorum-state.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.ledger.findings import Blocker, BlockerKind, Conversion, ConversionKind, voter_without_address
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.errors import VersionsError
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.target import Target
    from falkirk.storage.quorum_state import QuorumState


@dataclass(frozen=True, slots=True, kw_only=True)
class KraftConversion:
    """kraft.version before and after; `quorum_voters` is the value of controller.quorum.voters that level 0 needs."""

    before: int
    after: int
    quorum_voters: str | None = None
    reason: str = ""
    blockers: tuple[Blocker, ...] = ()

    @property
    def is_lowered(self) -> bool:
        """True if the voters leave the log."""
        return self.after < self.before

    @property
    def conversion(self) -> Conversion:
        """The move of the voters into the configuration."""
        return Conversion(
            kind=ConversionKind.KRAFT_VERSION_LOWERED,
            fields={"before": self.before, "after": self.after, "controller_quorum_voters": self.quorum_voters},
            text=f"kraft.version {self.before} becomes {self.after}: {self.reason}; "
            f"set controller.quorum.voters={self.quorum_voters} on every node",
        )

    def quorum_state(self, state: QuorumState | None, voters: frozenset[int]) -> QuorumState | None:
        """Return a node's quorum-state in the form of the new kraft.version; the epoch and the vote stay."""
        if state is None or self.after == self.before:
            return state
        if self.after > self.before:
            return replace(state, data_version=1, voted_directory_id=ZERO_UUID, cluster_id="", current_voters=())
        return replace(
            state,
            data_version=0,
            voted_directory_id=ZERO_UUID,
            cluster_id="",
            applied_offset=0,
            current_voters=tuple(sorted(voters)),
        )


def plan_kraft_version(cluster: Cluster, target: Target) -> KraftConversion:
    """Return the kraft.version that the target gets, with blockers."""
    before = cluster.kraft_version
    reason = reason_not_kept(before, target)
    if reason is None:
        return KraftConversion(before=before, after=before)
    voters = cluster.voters
    assert voters is not None, "kraft.version 1 has its voters in the log"
    blockers = [voter_without_address(voter, str(target)) for voter in sorted(voters.ids - set(voters.endpoints))]
    blockers += _voters_with_other_directories(cluster)
    addresses = [
        f"{voter}@{f'[{at.host}]' if ':' in at.host else at.host}:{at.port}"
        for voter, at in sorted(voters.endpoints.items())
    ]
    return KraftConversion(
        before=before, after=0, quorum_voters=",".join(addresses), reason=reason, blockers=tuple(blockers)
    )


def reason_not_kept(level: int, target: Target) -> str | None:
    """Return why the target cannot have a level of kraft.version; None if it can."""
    if level == 0:
        return None
    supported = target.release.supported_features().get(KRAFT_VERSION)
    if supported is None or level not in supported:
        return f"Kafka {target.release.word} does not support kraft.version {level}"
    try:
        needed = target.release.feature(KRAFT_VERSION).level(level).dependencies.get(METADATA_VERSION, 0)
    except VersionsError:
        return None
    if target.metadata_version.level < needed:
        return f"kraft.version {level} needs metadata.version {needed} in Kafka {target.release.word}"
    return None


def _voters_with_other_directories(cluster: Cluster) -> list[Blocker]:
    """Return nodes whose id votes with another directory than the one here: the static set would make them voters."""
    assert cluster.voters is not None
    found = []
    for node in cluster.nodes:
        expected = cluster.voters.directory_ids.get(node.node_id, ZERO_UUID)
        if node.metadata_dir is None or expected == ZERO_UUID:
            continue
        actual = node.metadata_dir.meta.directory_id
        if actual is not None and actual != expected:
            found.append(
                Blocker(
                    kind=BlockerKind.VOTER_DIRECTORY_DIFFERS,
                    fields={
                        "node_id": node.node_id,
                        "directory_id": uuid_text(actual),
                        "voter_directory_id": uuid_text(expected),
                        "path": str(node.metadata_dir.path),
                    },
                    text=f"node {node.node_id} votes with directory {uuid_text(expected)}, and "
                    f"{node.metadata_dir.path} is directory {uuid_text(actual)}: with static voters they cannot "
                    "be distinguished",
                )
            )
    return found
