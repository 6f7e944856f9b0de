"""The facts of releases in `schemas/facts`, joined: what `generate_versions.py` reads and compares against.

`facts_from_jars.py` wrote them. Of releases before 3.7 there are the API ranges alone.
"""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# One release's part of a fact file: its shape is the extractor's.
Facts = Any

FOLDER = Path(__file__).resolve().parents[1] / "schemas" / "facts"
SUFFIX = ".json.gz"

# Facts that the tables leave out, and why.
LEFT_OUT = {
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


# Which schemas of keys are a coordinator's, by how they begin; `Legacy` may stand before it.
COORDINATOR_KEYS = {
    "groupCoordinator": ("OffsetCommit", "GroupMetadata", "ConsumerGroup", "ShareGroup", "Streams"),
    "transactionCoordinator": ("TransactionLog",),
    "shareCoordinator": ("ShareSnapshot", "ShareUpdate"),
}


@dataclass(frozen=True)
class VersionFacts:
    """Facts by release; of the oldest ones there are API ranges alone."""

    api_ranges: dict[str, Facts]
    features: dict[str, Facts]
    metadata_versions: dict[str, Facts]
    record_versions: dict[str, Facts]
    # `module/Name` to schema.
    schemas: dict[str, Facts]

    def releases(self) -> list[str]:
        """Return every release, oldest first."""
        return list(self.api_ranges)


def read_facts() -> VersionFacts:
    """Read the facts of all releases, oldest first."""
    names = (path.name.removesuffix(SUFFIX) for path in FOLDER.glob(f"*{SUFFIX}"))
    releases = sorted(names, key=lambda release: [int(part) for part in release.split(".")])
    read = {release: json.loads(gzip.decompress(file_of(release).read_bytes())) for release in releases}
    full = {release: facts for release, facts in read.items() if "schemas" in facts}
    return VersionFacts(
        api_ranges={release: facts["apis"] for release, facts in read.items()},
        features={release: facts["features"] for release, facts in full.items()},
        metadata_versions={release: facts["metadataVersions"] for release, facts in full.items()},
        record_versions={
            release: facts["records"] | _coordinators(facts["schemas"]) for release, facts in full.items()
        },
        schemas={release: facts["schemas"] for release, facts in full.items()},
    )


def write_release(release: str, facts: Facts) -> None:
    """Write what was read of one release; the same facts are the same bytes."""
    features = {name: in_order(fact) if "Supported" in name else fact for name, fact in facts["features"].items()}
    text = json.dumps(facts | {"features": features}, separators=(",", ":"))
    file_of(release).write_bytes(gzip.compress(text.encode(), mtime=0))


def in_order(value: Facts) -> Facts:
    """Sort maps, whose order Kafka leaves to chance."""
    return {name: in_order(value[name]) for name in sorted(value)} if isinstance(value, dict) else value


def file_of(release: str) -> Path:
    return FOLDER / f"{release}{SUFFIX}"


def _coordinators(schemas: Facts) -> Facts:
    named = {schema["name"]: schema for schema in schemas.values()}
    pairs = [_pair(schema, named) for name, schema in named.items() if name.endswith("Key")]
    return {
        coordinator: {
            "types": None,
            "schemas": sorted(
                (pair for pair in pairs if pair["key"].removeprefix("Legacy").startswith(beginnings)), key=_type_id
            ),
        }
        for coordinator, beginnings in COORDINATOR_KEYS.items()
    }


def _pair(key: Facts, named: Facts) -> Facts:
    value = named[key["name"].removesuffix("Key") + "Value"]
    return {
        "key": key["name"],
        "keyVersions": key["validVersions"],
        "keyApiKey": key.get("apiKey"),
        "value": value["name"],
        "valueVersions": value["validVersions"],
        "valueFlexibleVersions": value["flexibleVersions"],
    }


def _type_id(pair: Facts) -> int:
    """Return the record type: its own number, or (up to 4.0) the first version of its key."""
    number = pair["keyApiKey"]
    return int(pair["keyVersions"].partition("-")[0]) if number is None else int(number)


def metadata_version_value(value: Facts) -> Facts:
    """Return a written version as a number: the record batch format is named `V2` in the facts."""
    return int(value[1:]) if isinstance(value, str) and value.startswith("V") else value
