"""SCRAM credentials of users (KIP-900)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.protocol.messages import UserScramCredentialRecord

if TYPE_CHECKING:
    from falkirk.protocol.messages import RemoveUserScramCredentialRecord


class ScramUser(NamedTuple):
    """A user and a mechanism, which have one credential; mechanisms are Kafka's numbers (1 SHA-256, 2 SHA-512)."""

    mechanism: int
    name: str


class ScramCredential(msgspec.Struct, frozen=True, gc=False):
    """What the server stores in place of the password; secret all the same."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def to_record(self, user: ScramUser) -> tuple[UserScramCredentialRecord, int]:
        """Return the credential as (record, record version)."""
        record = UserScramCredentialRecord(
            user.name, user.mechanism, self.salt, self.stored_key, self.server_key, self.iterations
        )
        return record, 0


class ScramImage(msgspec.Struct, frozen=True):
    """All credentials by user and mechanism."""

    credentials: Map[ScramUser, ScramCredential] = Map()


class ScramDelta:
    """Pending changes of the credentials."""

    def __init__(self, image: ScramImage) -> None:
        self.image = image
        self.credentials = KeyedDelta(image.credentials)

    def replay_credential(self, record: UserScramCredentialRecord) -> None:
        """Add or replace a credential."""
        credential = ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)
        self.credentials.put(ScramUser(record.mechanism, record.name), credential)

    def replay_remove(self, record: RemoveUserScramCredentialRecord) -> None:
        """Remove a credential; an unknown one is no error."""
        self.credentials.remove(ScramUser(record.mechanism, record.name))

    def apply(self) -> ScramImage:
        """Return the next image."""
        return ScramImage(self.credentials.apply())

    @classmethod
    def between(cls, before: ScramImage, after: ScramImage) -> ScramDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.credentials = KeyedDelta.between(before.credentials, after.credentials)
        return delta
