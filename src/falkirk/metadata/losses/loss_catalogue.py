"""The catalogue of what a lower metadata.version loses.

A rule names a record type, the level from which on the log can hold something, and a condition on the fields of one
row. The image writer applies the rules to objects, the fleet's transforms to columns.
Sources: KIP-1155; the table in each release's MetadataVersion, by what the log can hold at a level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.acls import DENY
from falkirk.metadata.image.configs import CLIENT_METRICS, GROUP, TOPIC
from falkirk.metadata.image.features import NO_ZK_MIGRATION
from falkirk.metadata.losses.condition import (
    Always,
    Condition,
    Contains,
    Differs,
    Equals,
    EqualsIgnoringCase,
    HasUnderivableDirectory,
    IsEmpty,
    IsOneOf,
    IsSet,
    LongerThan,
)
from falkirk.metadata.losses.loss import UNKNOWN_CONFIG, UNKNOWN_TAG, LossRule, Outcome
from falkirk.versions.configs.resources import unknown_group_configs, unknown_topic_configs
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


ELR_TO_ISR: Final = "elr_to_isr"
"""Kind of a partition whose eligible leader replicas become in-sync."""
_HAS_ELR: Final = LongerThan("eligible_leader_replicas", 0)
_HAS_LAST_KNOWN_ELR: Final = LongerThan("last_known_elr", 0)
_NO_ISR: Final = IsEmpty("isr")
_HAS_ISR: Final = LongerThan("isr", 0)
_ELR_FIELDS: Final = ("isr", "eligible_leader_replicas", "last_known_elr", "leader", "leader_recovery_state")
_ELR_WRITERS: Final[Mapping[str, Condition]] = {
    "PartitionRecord": Always(),
    "PartitionChangeRecord": IsSet("isr") | IsSet("eligible_leader_replicas") | IsSet("last_known_elr"),
}
_CIDR: Final = Contains("host", "/")
_ACL_FIELDS: Final = (
    "resource_type",
    "resource_name",
    "pattern_type",
    "principal",
    "host",
    "operation",
    "permission_type",
)


def _since(name: str) -> int:
    return MetadataVersion.parse(name).level


CATALOGUE: Final = (
    LossRule(
        kind="in_controlled_shutdown",
        record="RegisterBrokerRecord",
        level=_since("3.3-IV3"),
        condition=Equals("in_controlled_shutdown", value=True),
        outcome=Outcome.LOST,
        detail="{key} is no longer known to be shutting down",
        fields=("in_controlled_shutdown",),
        result_fields=("in_controlled_shutdown",),
        written_by={
            "RegisterBrokerRecord": Always(),
            "BrokerRegistrationChangeRecord": Differs("in_controlled_shutdown", 0),
        },
        borne_by={"BrokerRegistrationChangeRecord": Equals("in_controlled_shutdown", 1)},
    ),
    LossRule(
        kind="migrating_zk_broker",
        record="RegisterBrokerRecord",
        level=_since("3.4-IV0"),
        condition=Equals("is_migrating_zk_broker", value=True),
        outcome=Outcome.LOST,
        detail="{key} is no longer known to migrate from ZooKeeper",
        fields=("is_migrating_zk_broker",),
        result_fields=("is_migrating_zk_broker",),
    ),
    LossRule(
        kind="zk_migration_state",
        record="ZkMigrationStateRecord",
        level=_since("3.4-IV0"),
        condition=Differs("zk_migration_state", NO_ZK_MIGRATION),
        outcome=Outcome.LOST,
        detail="the state of the migration from ZooKeeper is forgotten",
        fields=("zk_migration_state",),
    ),
    LossRule(
        kind="remote_storage_topic",
        record="ConfigRecord",
        level=_since("3.5-IV0"),
        condition=Equals("resource_type", TOPIC)
        & Equals("name", "remote.storage.enable")
        & EqualsIgnoringCase("value", "true"),
        outcome=Outcome.INACCESSIBLE,
        detail="{key}: what lies in remote storage cannot be read",
        fields=("value",),
    ),
    LossRule(
        kind="scram_credential",
        record="UserScramCredentialRecord",
        level=_since("3.5-IV2"),
        condition=Always(),
        outcome=Outcome.LOST,
        detail="{key} can no longer log in",
        fields=("iterations",),
    ),
    LossRule(
        kind="delegation_token",
        record="DelegationTokenRecord",
        level=_since("3.6-IV2"),
        condition=Always(),
        outcome=Outcome.LOST,
        detail="{key} is no longer valid",
        fields=("owner", "requester", "renewers", "issue_timestamp", "max_timestamp", "expiration_timestamp"),
    ),
    LossRule(
        kind="controller_registration",
        record="RegisterControllerRecord",
        level=_since("3.7-IV0"),
        condition=Always(),
        outcome=Outcome.LOST,
        detail="{key}: its registration is forgotten; it registers again when the level rises",
        fields=("incarnation_id", "zk_migration_ready"),
    ),
    LossRule(
        kind="client_metrics_config",
        record="ConfigRecord",
        level=_since("3.7-IV0"),
        condition=Equals("resource_type", CLIENT_METRICS),
        outcome=Outcome.INACCESSIBLE,
        detail="{key}: releases before 3.7 do not know client metrics; their next snapshot loses the resource's type",
        fields=("value",),
    ),
    LossRule(
        kind="broker_log_dirs",
        record="RegisterBrokerRecord",
        level=_since("3.7-IV2"),
        condition=LongerThan("log_dirs", 1),
        outcome=Outcome.LOST,
        detail="{key}: its log directories are forgotten, and several of them are not supported below",
        fields=("log_dirs",),
        result_fields=("log_dirs",),
        written_by={"RegisterBrokerRecord": Always(), "BrokerRegistrationChangeRecord": LongerThan("log_dirs", 0)},
        borne_by={"BrokerRegistrationChangeRecord": LongerThan("log_dirs", 1)},
    ),
    LossRule(
        kind="directory_assignment",
        record="PartitionRecord",
        level=_since("3.7-IV2"),
        condition=HasUnderivableDirectory(),
        outcome=Outcome.LOST,
        detail="{key}: the directories of its replicas are forgotten",
        fields=("replicas", "directories"),
        result_fields=("directories",),
        written_by={"PartitionRecord": Always(), "PartitionChangeRecord": IsSet("directories")},
        borne_by={"PartitionChangeRecord": HasUnderivableDirectory()},
    ),
    LossRule(
        kind="group_config",
        record="ConfigRecord",
        level=_since("4.0-IV0"),
        condition=Equals("resource_type", GROUP),
        outcome=Outcome.INACCESSIBLE,
        detail="{key}: releases before 4.0 do not know group configs; their next snapshot loses the resource's type",
        fields=("value",),
    ),
    LossRule(
        kind=ELR_TO_ISR,
        record="PartitionRecord",
        level=_since("4.0-IV1"),
        condition=_NO_ISR & _HAS_ELR,
        outcome=Outcome.LOST,
        detail="{key} has no in-sync replica: its eligible leader replicas, which have every committed message, become "
        "in-sync ones",
        fields=_ELR_FIELDS,
        result_fields=("isr", "leader", "leader_recovery_state"),
        elr=True,
        written_by=_ELR_WRITERS,
        borne_by={"PartitionChangeRecord": IsSet("isr") & _NO_ISR & _HAS_ELR},
    ),
    LossRule(
        kind="last_known_leader_to_isr",
        record="PartitionRecord",
        level=_since("4.0-IV1"),
        condition=_NO_ISR & IsEmpty("eligible_leader_replicas") & _HAS_LAST_KNOWN_ELR,
        outcome=Outcome.LOST,
        detail="{key} has no in-sync and no eligible replica: its last known leader takes over and recovers; "
        "committed messages may be missing there",
        fields=_ELR_FIELDS,
        result_fields=("isr", "leader", "leader_recovery_state"),
        elr=True,
        written_by=_ELR_WRITERS,
        borne_by={
            "PartitionChangeRecord": IsSet("isr") & _NO_ISR & IsEmpty("eligible_leader_replicas") & _HAS_LAST_KNOWN_ELR
        },
    ),
    LossRule(
        kind="eligible_leader_replicas",
        record="PartitionRecord",
        level=_since("4.0-IV1"),
        condition=_HAS_ISR & (_HAS_ELR | _HAS_LAST_KNOWN_ELR),
        outcome=Outcome.LOST,
        detail="{key}: its eligible leader replicas are forgotten; should its in-sync replicas fail, only an unclean "
        "election brings it back without them",
        fields=_ELR_FIELDS,
        result_fields=("isr", "leader", "leader_recovery_state"),
        elr=True,
        written_by=_ELR_WRITERS,
        # A change that leaves the ISR as it is may be of a partition without; that it has ELR is what counts here.
        borne_by={"PartitionChangeRecord": (_HAS_ISR | Equals("isr", None)) & (_HAS_ELR | _HAS_LAST_KNOWN_ELR)},
    ),
    LossRule(
        kind="partition_without_replica",
        record="PartitionRecord",
        level=_since("4.0-IV1"),
        condition=_NO_ISR & IsEmpty("eligible_leader_replicas") & IsEmpty("last_known_elr"),
        outcome=Outcome.INACCESSIBLE,
        detail="{key} has no in-sync, eligible or last known replica: only an unclean election brings it back",
        fields=_ELR_FIELDS,
        result_fields=("isr", "leader", "leader_recovery_state"),
        written_by=_ELR_WRITERS,
    ),
    LossRule(
        kind="cordoned_log_dirs",
        record="RegisterBrokerRecord",
        level=_since("4.3-IV0"),
        condition=LongerThan("cordoned_log_dirs", 0),
        outcome=Outcome.LOST,
        detail="{key}: its cordoned log directories are forgotten, new replicas may be placed there",
        fields=("cordoned_log_dirs",),
        result_fields=("cordoned_log_dirs",),
        written_by={"RegisterBrokerRecord": Always(), "BrokerRegistrationChangeRecord": IsSet("cordoned_log_dirs")},
        borne_by={"BrokerRegistrationChangeRecord": LongerThan("cordoned_log_dirs", 0)},
    ),
    LossRule(
        kind="cidr_allow_acl",
        record="AccessControlEntryRecord",
        level=_since("4.4-IV1"),
        condition=_CIDR & Differs("permission_type", DENY),
        outcome=Outcome.LOST,
        detail="{key}: the address range is taken for the name of one host, so the ACL no longer gives access",
        fields=_ACL_FIELDS,
        result_fields=("host",),
        by_meaning=True,
    ),
    LossRule(
        kind="cidr_deny_acl",
        record="AccessControlEntryRecord",
        level=_since("4.4-IV1"),
        condition=_CIDR & Equals("permission_type", DENY),
        outcome=Outcome.LOST,
        detail="{key}: the address range is taken for the name of one host, so the ACL no longer denies access",
        fields=_ACL_FIELDS,
        result_fields=("host",),
        by_meaning=True,
    ),
    LossRule(
        kind=UNKNOWN_TAG,
        record="",
        level=None,
        condition=Always(),
        outcome=Outcome.LOST,
        detail="{key}: a tagged field that no release up to 4.4 knows is not written again",
        fields=("record", "path", "tag", "data"),
    ),
)
"""Every rule, by level. The last one applies to all record types."""


def config_rules(at: MetadataVersion, release: Release) -> list[LossRule]:
    """Return the rules about configs whose names the servers of a release do not know, whatever the level.

    Below the level of `group_config` that rule covers all configs of groups.
    """
    names = {TOPIC: unknown_topic_configs(release)}
    if at.level >= _since("4.0-IV0"):
        names[GROUP] = unknown_group_configs(release)
    return [
        LossRule(
            kind=UNKNOWN_CONFIG,
            record="ConfigRecord",
            level=None,
            condition=Equals("resource_type", resource_type) & IsOneOf("name", unknown),
            outcome=Outcome.INACCESSIBLE,
            detail=f"{{key}}: release {release} does not know it, and goes without",
            fields=("value",),
        )
        for resource_type, unknown in names.items()
        if unknown
    ]
