"""ACLs of the cluster, by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import acl_key
from falkirk.protocol.messages import AccessControlEntryRecord

if TYPE_CHECKING:
    from falkirk.protocol.messages import RemoveAccessControlEntryRecord

DENY: Final = 2
ALLOW: Final = 3


class Acl(msgspec.Struct, frozen=True, gc=False):
    """One ACL, without its id. Numbers are those of Kafka's Admin protocol."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int

    def to_record(self, acl_id: bytes) -> tuple[AccessControlEntryRecord, int]:
        """Return the ACL as (record, record version)."""
        record = AccessControlEntryRecord(
            acl_id,
            self.resource_type,
            self.resource_name,
            self.pattern_type,
            self.principal,
            self.host,
            self.operation,
            self.permission_type,
        )
        return record, 0


class AclsImage(msgspec.Struct, frozen=True):
    """All ACLs by id."""

    acls: Map[bytes, Acl] = Map()


class AclsDelta:
    """Pending changes of the ACLs."""

    def __init__(self, image: AclsImage) -> None:
        self.image = image
        self.acls = KeyedDelta(image.acls)

    def replay_acl(self, record: AccessControlEntryRecord) -> None:
        """Add or replace an ACL."""
        acl = Acl(
            record.resource_type,
            record.resource_name,
            record.pattern_type,
            record.principal,
            record.host,
            record.operation,
            record.permission_type,
        )
        self.acls.put(record.id, acl)

    def replay_remove(self, record: RemoveAccessControlEntryRecord) -> None:
        """Remove an ACL. Raises InconsistentRecordError for an unknown one."""
        if self.acls.get(record.id) is None:
            reason = "no ACL has this id"
            raise InconsistentRecordError("RemoveAccessControlEntryRecord", reason, key=acl_key(record.id))
        self.acls.remove(record.id)

    def apply(self) -> AclsImage:
        """Return the next image."""
        return AclsImage(self.acls.apply())

    @classmethod
    def between(cls, before: AclsImage, after: AclsImage) -> AclsDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.acls = KeyedDelta.between(before.acls, after.acls)
        return delta
