"""The tables of objects by record type, and the columns of each object's key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from falkirk.metadata.records.record_key import IDENTITY_NAMES
from falkirk.pipeline.tables.metadata_state import ACLS, BROKERS, CONFIGS, CONTROLLERS, PARTITIONS, SCRAM_CREDENTIALS
from falkirk.pipeline.transforms.object_keys import key_fields, key_text
from falkirk.protocol.uuid import parse_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.losses.loss import LossRule
    from falkirk.pipeline.tables.table import Table

    Values = pa.Array[Any]  # Any: of the column's own type

_UUIDS: Final = {"acl"}
_PLACES: Final = {
    "in_controlled_shutdown": "in_controlled_shutdown_written",
    "broker_log_dirs": "log_dirs_written",
    "cordoned_log_dirs": "cordoned_log_dirs_written",
    "directory_assignment": "directories_written",
    "elr_to_isr": "replica_state_written",
    "last_known_leader_to_isr": "replica_state_written",
    "eligible_leader_replicas": "replica_state_written",
    "partition_without_replica": "replica_state_written",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataObjects:
    """The objects of one record type. `identity` names the columns of its key, in order."""

    table: Table
    kind: str
    identity: tuple[str, ...]
    # Column with the name of a partition's topic.
    topic: str | None = None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Names of the columns that `key_text` and `key_fields` need."""
        return self.identity if self.topic is None else (*self.identity, self.topic)

    def key_text(self, rows: pa.RecordBatch) -> Values:
        """Return the phrases for objects."""
        return key_text(self.kind, self._identity(rows), None if self.topic is None else rows[self.topic])

    def key_fields(self, rows: pa.RecordBatch) -> Values:
        """Return the keys' fields by name, as JSON."""
        return key_fields(self.kind, self._identity(rows))

    def first(self, rows: pa.RecordBatch) -> int:
        """Return which object is the first in the order the image is written: topics by name, uuids by their bytes."""
        columns = self.identity if self.topic is None else (self.topic, *self.identity[1:])
        left = pa.array(range(rows.num_rows), pa.int64())
        for name, column in zip(IDENTITY_NAMES[self.kind], columns, strict=True):
            values = rows[column].take(left)
            if name in _UUIDS:
                # Kafka's text form of a uuid does not sort like its bytes.
                values = pa.array(map(parse_uuid, map(str, values.to_pylist())), pa.binary())
            left = left.filter(values.is_null() if values.null_count else pc.equal(values, pc.min(values)))
        return int(left[0].as_py())

    def _identity(self, rows: pa.RecordBatch) -> list[Values]:
        return [rows[name] for name in self.identity]


METADATA_OBJECTS: Final[Mapping[str, MetadataObjects]] = {
    "RegisterBrokerRecord": MetadataObjects(table=BROKERS, kind="broker", identity=("broker_id",)),
    "RegisterControllerRecord": MetadataObjects(table=CONTROLLERS, kind="controller", identity=("controller_id",)),
    "PartitionRecord": MetadataObjects(
        table=PARTITIONS, kind="partition", identity=("topic_id", "partition_id"), topic="topic"
    ),
    "ConfigRecord": MetadataObjects(table=CONFIGS, kind="config", identity=("resource_type", "resource_name", "name")),
    "AccessControlEntryRecord": MetadataObjects(table=ACLS, kind="acl", identity=("id",)),
    "UserScramCredentialRecord": MetadataObjects(
        table=SCRAM_CREDENTIALS, kind="scram_credential", identity=("name", "mechanism")
    ),
}
"""By record type. Delegation tokens and the state of a migration from ZooKeeper are in no table of state."""


def place_column(rule: LossRule) -> str:
    """Return the column with the place where the part of the object that the rule is about was written last."""
    return _PLACES.get(rule.kind, "written")
