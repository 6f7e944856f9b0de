"""The fact tables about releases, joined: what `generate_versions.py` reads and compares against.

A facts folder holds api_ranges.json, features.json, metadata_versions.json and record_versions.json, each by release.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One release's part of a fact file: its shape is the extractor's.
Facts = Any

# Facts that the tables leave out, and why.
LEFT_OUT = {
    "requiresDelayedAllocation": "how the JVM broker allocates the buffer of a request",
    "minRequiredInterBrokerMagic": "0 or 2 by API; a leftover of releases before 0.11",
    "test.feature.version": "Kafka's own unit test feature, never offered to anyone",
    "UNKNOWN": "the JVM's placeholder for a control record type that it does not know",
}

# How the tables call what a fact calls by its Java method.
ABILITIES = {
    "isAllocateProducerIdsSupported": "allocate_producer_ids",
    "isAlterPartitionSupported": "alter_partition",
    "isApiForwardingEnabled": "api_forwarding",
    "isBrokerRegistrationChangeRecordSupported": "broker_registration_change_record",
    "isCidrAclSupported": "cidr_acl",
    "isControllerRegistrationSupported": "controller_registration",
    "isControllerUnregistrationSupported": "controller_unregistration",
    "isCordonedLogDirsSupported": "cordoned_log_dirs",
    "isDelegationTokenSupported": "delegation_token",
    "isDirectoryAssignmentSupported": "directory_assignment",
    "isElrSupported": "elr",
    "isFeatureVersioningSupported": "feature_versioning",
    "isInControlledShutdownStateSupported": "in_controlled_shutdown",
    "isKRaftSupported": "kraft",
    "isLeaderEpochBumpRequiredOnIsrShrink": "leader_epoch_bump_on_isr_shrink",
    "isLeaderRecoverySupported": "leader_recovery",
    "isMetadataTransactionSupported": "metadata_transaction",
    "isMigrationSupported": "migration",
    "isNoOpRecordSupported": "no_op_record",
    "isOffsetForLeaderEpochSupported": "offset_for_leader_epoch",
    "isSaslInterBrokerHandshakeRequestEnabled": "sasl_inter_broker_handshake",
    "isScramSupported": "scram",
    "isTopicIdsSupported": "topic_ids",
    "isTruncationOnFetchSupported": "truncation_on_fetch",
}
WRITTEN = {
    "groupMetadataValueVersion": "group_metadata_value",
    "highestSupportedRecordVersion": "record_batch",
    "offsetCommitValueVersion(false)": "offset_commit_value",
    "partitionChangeRecordVersion": "partition_change",
    "partitionRecordVersion": "partition",
    "registerBrokerRecordVersion": "register_broker",
    "registerControllerRecordVersion": "register_controller",
}
SENT = {
    "fetchRequestVersion": "fetch",
    "listOffsetRequestVersion": "list_offsets",
    "offsetForLeaderEpochRequestVersion": "offset_for_leader_epoch",
    "writeTxnMarkersRequestVersion": "write_txn_markers",
}
# What the levels of features let nodes do, and which versions they make nodes write.
LEVEL_ABILITIES = {
    "isReconfigSupported": "reconfiguration",
    "supportsEpochBump": "epoch_bump",
    "isConsumerRebalanceProtocolSupported": "consumer_rebalance_protocol",
    "supportsShareGroups": "share_groups",
    "supportsShareGroupDLQ": "share_group_dlq",
    "streamsGroupSupported": "streams_groups",
}
LEVEL_WRITTEN = {
    "kraftVersionRecordVersion": "kraft_version_record",
    "votersRecordVersion": "voters_record",
    "quorumStateVersion": "quorum_state",
    "transactionLogValueVersion": "transaction_log_value",
}


@dataclass(frozen=True)
class VersionFacts:
    """All four tables; `shared` are the releases that the first folder covers in full."""

    api_ranges: dict[str, Facts]
    features: dict[str, Facts]
    metadata_versions: dict[str, Facts]
    record_versions: dict[str, Facts]
    metadata_versions_by_name: list[Facts]
    shared: frozenset[str]

    def releases(self) -> list[str]:
        """Return every release, oldest first."""
        return sorted(self.api_ranges, key=lambda release: [int(part) for part in release.split(".")])


def read_facts(folder: Path, more: Path | None) -> VersionFacts:
    """Read one folder, and from a second one the releases that it lacks."""
    metadata_versions = _read(folder / "metadata_versions.json")
    facts = VersionFacts(
        api_ranges=_read(folder / "api_ranges.json"),
        features=_read(folder / "features.json"),
        metadata_versions=metadata_versions["releases"],
        record_versions=_read(folder / "record_versions.json"),
        metadata_versions_by_name=metadata_versions["byName"],
        shared=frozenset(metadata_versions["releases"]),
    )
    if more is not None:
        facts.features.update(_read(more / "features.json"))
        facts.record_versions.update(_read(more / "record_versions.json"))
        facts.metadata_versions.update(_read(more / "metadata_versions.json")["releases"])
        for release, apis in _read(more / "api_ranges.json").items():
            if facts.api_ranges.setdefault(release, apis) != apis:
                raise SystemExit(f"{folder} and {more} differ in the API ranges of {release}")
    return facts


def metadata_version_value(value: Facts) -> Facts:
    """Return a written version as a number: the record batch format is named `V2` in the facts."""
    return int(value[1:]) if isinstance(value, str) and value.startswith("V") else value


def _read(path: Path) -> Facts:
    return json.loads(path.read_text())
