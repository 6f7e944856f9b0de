"""Blockers, conversions and warnings of a move: a kind, its facts, and a sentence."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence  # noqa: TC003 - msgspec reads annotations when it decodes a ledger
from dataclasses import dataclass
from typing import Any

import msgspec


class BlockerKind(enum.StrEnum):
    """What must be settled before a move; from UNSUPPORTED on they are of a running cluster."""

    NO_METADATA_VERSION = "no_metadata_version"
    TARGET_ABOVE = "target_above"
    VOTER_WITHOUT_ADDRESS = "voter_without_address"
    VOTER_DIRECTORY_DIFFERS = "voter_directory_differs"
    NO_MAJORITY = "no_majority"
    INCOMPLETE_METADATA = "incomplete_metadata"
    UNREADABLE_METADATA = "unreadable_metadata"
    UNSUPPORTING_NODE = "unsupporting_node"
    UNSUPPORTED_CLIENT = "unsupported_client"
    UNSUPPORTED = "unsupported"
    UNREGISTERED = "unregistered"
    CANNOT_LOWER = "cannot-lower"
    INCOMPATIBLE_FEATURE = "incompatible-feature"
    TRANSACTION_NOT_ENDED = "transaction-not-ended"
    BELOW_FULL_ISR = "below_full_isr"
    SILENT_NODE = "silent_node"
    NO_WAY = "no_way"
    UNREGISTERED_VOTER = "unregistered_voter"
    UNSUPPORTED_CONFIG = "unsupported_config"
    REFUSED_BY_TARGET = "refused_by_target"
    IMAGE_DIFFERS = "image_differs"


class ConversionKind(enum.StrEnum):
    """What is written in another form; the first three are also kinds of losses."""

    FEATURE_LOWERED = "feature_lowered"
    ELR_TO_ISR = "elr_to_isr"
    LAST_KNOWN_LEADER_TO_ISR = "last_known_leader_to_isr"
    KRAFT_VERSION_LOWERED = "kraft_version_lowered"
    HIDING_TOMBSTONE_REMOVED = "hiding_tombstone_removed"
    ORPHANED_GROUP_DELETED = "orphaned_group_deleted"


class WarningKind(enum.StrEnum):
    """What an operator should know, and what does not prevent a move."""

    TORN_LOG = "torn_log"
    DAMAGED_SNAPSHOT = "damaged_snapshot"
    UNFINISHED_SNAPSHOT = "unfinished_snapshot"
    OPEN_METADATA_TRANSACTION = "open_metadata_transaction"
    MISSING_NODES = "missing_nodes"
    MISSING_LOG_DIRS = "missing_log_dirs"
    UNKNOWN_REBALANCE_PROTOCOLS = "unknown_rebalance_protocols"
    DIFFERENT_COORDINATORS = "different_coordinators"
    OPEN_TRANSACTION = "open_transaction"
    GROUP_LEFT_ALONE = "group_left_alone"
    GHOST_BROKER = "ghost_broker"
    GHOST_CONTROLLER = "ghost_controller"
    STALE_REGISTRATION = "stale_registration"
    MEMBERS_REFUSED = "members_refused"
    PRODUCERS_WAIT = "producers_wait"
    VOTER_NOT_AT_BOOTSTRAP = "voter_not_at_bootstrap"
    IGNORED_BY_TARGET = "ignored_by_target"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A kind, the facts as JSON values, and the sentence that is made of them."""

    kind: str
    fields: Mapping[str, Any]  # Any: JSON values
    text: str

    def __str__(self) -> str:
        return self.text

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of a ledger."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON values
        return document


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker(Finding):
    """Something that must be settled first."""

    kind: BlockerKind

    @property
    def page(self) -> str:
        """Where the documents say what to do."""
        return f"docs/runbooks/blockers.md#{self.kind}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(Finding):
    """Something that is written in another form, or is written besides."""

    kind: ConversionKind


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerWarning(Finding):
    """Something that an operator should know."""

    kind: WarningKind


def voter_without_address(voter_id: int, target: str) -> Blocker:
    """Return the blocker of a voter that cannot move into the configuration, since the log has no address of it."""
    return Blocker(
        kind=BlockerKind.VOTER_WITHOUT_ADDRESS,
        fields={"voter_id": voter_id},
        text=f"voter {voter_id} has no address in the log, which {target} needs",
    )


def missing_nodes(node_ids: Sequence[int]) -> LedgerWarning:
    """Return the warning of nodes that belong to the cluster and whose directories were not given."""
    which = f"node {node_ids[0]} belongs to the cluster and is not here: before it starts again"
    if len(node_ids) > 1:
        names = ", ".join(map(str, node_ids))
        which = f"nodes {names} belong to the cluster and are not here: before one of them starts again"
    # A controller of 3.9.1 ends if a voter resigns (EndQuorumEpoch) before it knows any voters.
    text = (
        f"{which}, its metadata partition (__cluster_metadata-0) and bootstrap.checkpoint must go, or its newer "
        "records stop it; start it when the other controllers have a leader"
    )
    return LedgerWarning(kind=WarningKind.MISSING_NODES, fields={"node_ids": list(node_ids)}, text=text)
