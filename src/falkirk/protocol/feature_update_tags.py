"""Our tagged fields of UpdateFeatures: what Kafka's fields have no room for, and Kafka's nodes and clients pass over.

The request may say that a forced snapshot is allowed, where real brokers are to follow a lowered metadata.version,
and that open transactions are to be aborted, where transaction.version is lowered.
The response itemises what the update loses or would lose, and what is in its way. Source: KIP-482 (tagged fields).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from falkirk.protocol.schema import UnknownTaggedFields

# Of both messages, beside all fields. Kafka numbers its own tags from 0 on.
FEATURE_UPDATE_TAG: Final = 10_000
_ABORT_TRANSACTIONS_TAG: Final = 10_001
_ALLOWED: Final = b"\x01"
# The kind of a loss that is a group whose members go and whose offsets stay (KIP-848).
CONSUMER_GROUP: Final = "consumer_group"
# The kind of a loss that is a transaction which a lower transaction.version cuts off (KIP-890).
OPEN_TRANSACTION: Final = "open_transaction"


class FeatureUpdateDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What an update loses and what blocks it; items are JSON objects, those of losses as in every ledger.

    `undo_bundle`: where the active controller has put what an undo needs, None if nothing was written.
    """

    losses: list[dict[str, Any]] = []  # Any: JSON values
    inaccessible: list[dict[str, Any]] = []  # Any: JSON values
    blockers: list[Any] = []  # Any: JSON values
    undo_bundle: str | None = None

    def has_blocker(self, kind: str) -> bool:
        """Return whether a blocker of this kind is in the way."""
        return any(isinstance(each, dict) and each.get("kind") == kind for each in self.blockers)


def encode_consents(*, forced_snapshot: bool = False, abort_transactions: bool = False) -> UnknownTaggedFields:
    """Return the fields of a request that allows these."""
    consents = ((FEATURE_UPDATE_TAG, forced_snapshot), (_ABORT_TRANSACTIONS_TAG, abort_transactions))
    return tuple((tag, _ALLOWED) for tag, is_allowed in consents if is_allowed)


def allows_forced_snapshot(fields: UnknownTaggedFields) -> bool:
    """Return whether a request's fields allow a forced snapshot; only the value 1 does."""
    return (FEATURE_UPDATE_TAG, _ALLOWED) in _as_bytes(fields)


def allows_aborts(fields: UnknownTaggedFields) -> bool:
    """Return whether a request's fields allow to abort open transactions; only the value 1 does."""
    return (_ABORT_TRANSACTIONS_TAG, _ALLOWED) in _as_bytes(fields)


def encode_details(details: FeatureUpdateDetails) -> UnknownTaggedFields:
    """Return the fields of a response: UTF-8 JSON."""
    return ((FEATURE_UPDATE_TAG, msgspec.json.encode(details)),)


def decode_details(fields: UnknownTaggedFields) -> FeatureUpdateDetails | None:
    """Decode them from a response; None if they are absent or malformed."""
    for tag, data in fields:
        if tag == FEATURE_UPDATE_TAG:
            try:
                return msgspec.json.decode(data, type=FeatureUpdateDetails)
            except msgspec.MsgspecError:
                return None
    return None


def _as_bytes(fields: UnknownTaggedFields) -> list[tuple[int, bytes]]:
    return [(tag, bytes(data)) for tag, data in fields]
