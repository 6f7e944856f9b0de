"""Delegation tokens (KIP-48), in the metadata log since 3.6-IV2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.protocol.messages import DelegationTokenRecord

if TYPE_CHECKING:
    from falkirk.protocol.messages import RemoveDelegationTokenRecord


class DelegationToken(msgspec.Struct, frozen=True):
    """One token, without its id; the secret is derived from the id and never written. Times are ms."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int

    def to_record(self, token_id: str) -> tuple[DelegationTokenRecord, int]:
        """Return the token as (record, record version)."""
        record = DelegationTokenRecord(
            self.owner,
            self.requester,
            self.renewers,
            self.issue_timestamp,
            self.max_timestamp,
            self.expiration_timestamp,
            token_id,
        )
        return record, 0


class DelegationTokensImage(msgspec.Struct, frozen=True):
    """All tokens by id."""

    tokens: Map[str, DelegationToken] = Map()


class DelegationTokensDelta:
    """Pending changes of the tokens."""

    def __init__(self, image: DelegationTokensImage) -> None:
        self.image = image
        self.tokens = KeyedDelta(image.tokens)

    def replay_token(self, record: DelegationTokenRecord) -> None:
        """Add or replace a token."""
        token = DelegationToken(
            record.owner,
            record.requester,
            tuple(record.renewers),
            record.issue_timestamp,
            record.max_timestamp,
            record.expiration_timestamp,
        )
        self.tokens.put(record.token_id, token)

    def replay_remove(self, record: RemoveDelegationTokenRecord) -> None:
        """Remove a token; an unknown one is no error."""
        self.tokens.remove(record.token_id)

    def apply(self) -> DelegationTokensImage:
        """Return the next image."""
        return DelegationTokensImage(self.tokens.apply())

    @classmethod
    def between(cls, before: DelegationTokensImage, after: DelegationTokensImage) -> DelegationTokensDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.tokens = KeyedDelta.between(before.tokens, after.tokens)
        return delta
