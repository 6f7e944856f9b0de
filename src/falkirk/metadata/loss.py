"""What a lower metadata.version loses: one catalogue, and the form in which each loss is told.

The catalogue is data. The image writer goes by it, and so does whatever looks at the same records as columns: a rule
names a record type, the level from which on the log holds what it speaks of, and a condition on the fields of one row.
Sources: KIP-1155; the table in each release's MetadataVersion, told apart by what the log can hold at a level.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.metadata.condition import (
    Always,
    Condition,
    Contains,
    Differs,
    Equals,
    EqualsIgnoringCase,
    HasUnderivableDirectory,
    IsEmpty,
    IsSet,
    LongerThan,
)
from falkirk.metadata.errors import MetadataError
from falkirk.metadata.image.acls import DENY
from falkirk.metadata.image.configs import CLIENT_METRICS, GROUP, TOPIC
from falkirk.metadata.image.features import NO_ZK_MIGRATION
from falkirk.metadata.plain import plain_fields
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.record_key import ObjectKey
    from falkirk.protocol.schema import WireMessage


class Outcome(enum.Enum):
    """What becomes of something that a level cannot hold. The values are the words of JSON."""

    LOST = "lost"
    """Gone, of no effect any more, or only there in another form: SAFE refuses."""
    INACCESSIBLE = "inaccessible"
    """Still in the log, but older releases take no notice of it: SAFE goes on, and says so."""
    FEATURE = "feature"
    """A finalized feature that is dropped or lowered, because the target cannot run it: SAFE goes on, and says so."""


class Loss(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One thing that one object loses. `offset` and `source` are None until `locate` has found them.

    A stopped cluster can have one for each of a million partitions, so what it takes to tell of it is worked out when
    it is asked for, from the row that the catalogue's rule was true of.
    """

    kind: str
    outcome: Outcome
    key: ObjectKey
    # Type of the record that holds what is lost; once it is located, of the one that wrote it last.
    record: str
    # Level from which on it is held; None: at none that is known.
    level: int | None
    # `{key}` stands for the object.
    detail_text: str
    row: Any  # Any: see falkirk.metadata.condition
    # What of the row is told, and what of the record that is written instead; none of them is a secret.
    fields: tuple[str, ...]
    result_fields: tuple[str, ...] = ()
    make_written: Callable[[], WireMessage] | None = None
    make_original: Callable[[], tuple[WireMessage, int] | None]
    topic_name: str | None = None
    offset: int | None = None
    source: str | None = None

    @property
    def key_text(self) -> str:
        """Give the key as a phrase, `topic orders partition 3`."""
        return self.key.text(self.topic_name)

    @property
    def detail(self) -> str:
        """Say in a sentence what the loss means."""
        return self.detail_text.replace("{key}", self.key_text)

    @property
    def before(self) -> dict[str, Any]:  # Any: JSON values
        """Give what it was, without secrets."""
        return plain_fields(self.row, self.fields)

    @property
    def after(self) -> dict[str, Any] | None:  # Any: JSON values
        """Give what becomes of it; None: nothing of the record is left."""
        return None if self.make_written is None else plain_fields(self.make_written(), self.result_fields)

    @property
    def original(self) -> tuple[WireMessage, int] | None:
        """Give (record, record version) of the whole object as the image's own level has it, to put it back later."""
        return self.make_original()

    def located(self, record: str, offset: int, source: str | None) -> Loss:
        """Give the loss with the record and the place that wrote it last."""
        return msgspec.structs.replace(self, record=record, offset=offset, source=source)

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give the loss as the commands print it."""
        return {
            "kind": self.kind,
            "key": self.key_text,
            "key_fields": self.key.fields(),
            "record": self.record,
            "offset": self.offset,
            "source": self.source,
            "before": self.before,
            "after": self.after,
            "detail": self.detail,
        }


class LossError(MetadataError):
    """Something would be lost, and nobody agreed to it."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        super().__init__(f"{loss.key_text}: {loss.detail}")


def refuse_losses(loss: Loss) -> None:
    """Raise LossError for what would be lost; let inaccessible configs and dropped features pass."""
    if loss.outcome is Outcome.LOST:
        raise LossError(loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRule:
    """What `record` holds from `level` on, where `condition` is true of it.

    `elr` rules also hold above their level, wherever eligible leader replicas are switched off.
    """

    kind: str
    record: str
    level: int | None
    condition: Condition
    outcome: Outcome
    # `{key}` stands for the object.
    detail: str
    # What of the row is shown; none of them is a secret.
    fields: tuple[str, ...]
    # Fields that say what becomes of it; none: the whole record goes.
    result_fields: tuple[str, ...] = ()
    elr: bool = False
    # The record means what is lost only where the image's own level is at least `level`; below, it is lost already.
    by_meaning: bool = False
    # Records that write it, with what must be true of them: the last one is where the loss is located.
    written_by: Mapping[str, Condition] = field(default_factory=dict)

    @property
    def writers(self) -> Mapping[str, Condition]:
        """Give the records that write what the rule speaks of."""
        return self.written_by or {self.record: Always()}

    def applies(self, at: MetadataVersion, *, elr_enabled: bool) -> bool:
        """Say whether a target level cannot hold it."""
        return self.level is None or at.level < self.level or (self.elr and not elr_enabled)

    def has_meaning(self, own: MetadataVersion) -> bool:
        """Say whether an image at a level has what the rule speaks of, wherever its condition holds."""
        return not self.by_meaning or self.level is None or own.level >= self.level


def _since(name: str) -> int:
    return MetadataVersion.parse(name).level


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

UNKNOWN_TAG: Final = "unknown_tagged_field"

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
        kind="elr_to_isr",
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
"""Every rule, by level. The last one is of all record types."""
