"""What the report calls things: a title and a sentence for each kind, as an operator of Kafka knows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.coordinator.records.record_type import record_type_name
from falkirk.ledger.findings import BlockerKind
from falkirk.versions.metadata_version import METADATA_VERSION, METADATA_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping


_TYPES_NAMED_MAX: Final = 3
_NAMES: Final = {int(version.level): str(version) for version in METADATA_VERSIONS}
BLOCKERS: Final[Mapping[str, str]] = {
    BlockerKind.NO_METADATA_VERSION: "No metadata.version is finalized",
    BlockerKind.TARGET_ABOVE: "The target is above the cluster's level",
    BlockerKind.VOTER_WITHOUT_ADDRESS: "A voter has no address in the log",
    BlockerKind.VOTER_DIRECTORY_DIFFERS: "A node votes with another log directory",
    BlockerKind.NO_MAJORITY: "Files of too few voters",
    BlockerKind.INCOMPLETE_METADATA: "Metadata not read to its end",
    BlockerKind.UNREADABLE_METADATA: "Metadata unreadable",
    BlockerKind.UNSUPPORTING_NODE: "Nodes whose release does not run the target",
    BlockerKind.UNSUPPORTED_CLIENT: "Clients that stop working",
}
"""By kind of blocker, those of a fleet."""


@dataclass(frozen=True, slots=True)
class Words:
    """`title` names a kind in a table; `meaning` says what it means for the cluster."""

    title: str
    meaning: str


_LOSSES: Final[Mapping[str, Words]] = {
    "in_controlled_shutdown": Words("Brokers that are shutting down", "The controller forgets that they leave."),
    "migrating_zk_broker": Words("Brokers of a ZooKeeper migration", "They no longer count as migrating."),
    "zk_migration_state": Words("State of a ZooKeeper migration", "The migration is forgotten."),
    "remote_storage_topic": Words("Topics with tiered storage", "Segments in remote storage cannot be read."),
    "scram_credential": Words("SCRAM users", "These users can no longer log in."),
    "delegation_token": Words("Delegation tokens", "Clients with these tokens can no longer log in."),
    "controller_registration": Words(
        "Controllers' registrations", "They register again when the level rises; until then their versions are unknown."
    ),
    "client_metrics_config": Words("Client metrics subscriptions", "Clients send no metrics (KIP-714)."),
    "broker_log_dirs": Words("Brokers with several log directories", "Failed disks cannot be told apart (KIP-858)."),
    "directory_assignment": Words(
        "Replicas with a log directory assigned", "The controller forgets which disk holds which replica (KIP-858)."
    ),
    "group_config": Words("Group configs", "Groups run with the broker's defaults."),
    "elr_to_isr": Words(
        "Partitions whose eligible leader replicas become in-sync",
        "No committed message is lost if the brokers stopped cleanly; after a crash a replica may lack messages that "
        "it had not flushed.",
    ),
    "last_known_leader_to_isr": Words(
        "Partitions that only their last leader can bring back", "Committed messages may be missing there."
    ),
    "eligible_leader_replicas": Words(
        "Partitions that lose their spare leaders (ELR)",
        "They are online; if all in-sync replicas fail too, only an unclean election brings them back (KIP-966).",
    ),
    "partition_without_replica": Words(
        "Partitions without any usable replica", "Offline before and after; only an unclean election brings them back."
    ),
    "cordoned_log_dirs": Words("Cordoned log directories", "New replicas may be placed there again."),
    "cidr_allow_acl": Words(
        "ACLs that allow address ranges", "The range is taken for a host name: these clients lose access."
    ),
    "cidr_deny_acl": Words(
        "ACLs that deny address ranges", "The range is taken for a host name: these clients GAIN access."
    ),
    "unknown_tagged_field": Words("Fields that no release knows", "They are not written again."),
    "unknown_config": Words("Configs that the release does not know", "They stay in the log, and have no effect."),
    "feature_dropped": Words("Features that are switched off", "The release does not have them at this level."),
    "feature_lowered": Words("Features that are lowered", "The release has them at a lower level only."),
    "group_record": Words("Records that stop a group coordinator", "No group of the partition would load with them."),
    "share_group": Words("Share groups", "Their delivery state cannot be used; it counts again after an upgrade."),
}
"""By kind of loss. Other kinds are made of their own name."""
_CHANGES: Final[Mapping[str, Words]] = {
    "elr_to_isr": Words(_LOSSES["elr_to_isr"].title, "Their brokers stopped cleanly: no committed message is lost."),
}
"""By kind, where it costs nothing."""


def loss_words(kind: str) -> Words:
    """Return the words for a kind of loss."""
    return _LOSSES.get(kind) or Words(kind.replace("_", " ").capitalize(), "")


def change_words(kind: str) -> Words:
    """Return the words for a kind of loss that costs nothing."""
    return _CHANGES.get(kind) or loss_words(kind)


def blocker_title(kind: str) -> str:
    """Return the title of a kind of blocker."""
    return BLOCKERS.get(kind) or kind.replace("_", " ").capitalize()


def level_text(feature: str, level: int | None) -> str | None:
    """Return a level as people name it: a metadata.version by its release, 0 as off, others by their number.

    A node may support levels that no release known here has.
    """
    if level is None:
        return None
    if level == 0:
        return "off"
    return _NAMES.get(level, str(level)) if feature == METADATA_VERSION else str(level)


def api_text(name: str | None, key: int | None, version: int) -> str:
    """Return an API's version as people name it, `Fetch v13`; one that no release knows by its number."""
    return f"{name or f'unknown API {key}'} v{version}"


def record_types_text(counts: Mapping[str, int] | None) -> str | None:
    """Return the most frequent types of a coordinator's records by name, with how many there are."""
    ordered = sorted((counts or {}).items(), key=lambda item: -item[1])
    named = [f"{count:,} {record_type_name(int(type_))}" for type_, count in ordered[:_TYPES_NAMED_MAX]]
    if len(ordered) > _TYPES_NAMED_MAX:
        named.append(f"and {sum(count for _, count in ordered[_TYPES_NAMED_MAX:]):,} of other types")
    return ", ".join(named) or None
