"""Unknown tagged fields stay with a record, also when it is rewritten (KIP-915, KIP-482).

A newer release wrote them, and may come back. Differs from Kafka: there a rewritten record loses them. Only a value's
own are kept, not those of structs inside it, and only by versions that can hold them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from falkirk.coordinator.runtime.outcome import CoordinatorRecord
from falkirk.protocol.coordinator_record import encode_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.schema import UnknownTaggedFields, WireMessage


class KeptTags:
    """The unknown tags of the newest value of each key; usually none, at no cost."""

    def __init__(self) -> None:
        self._tags: dict[bytes, UnknownTaggedFields] = {}

    def replay(self, key: WireMessage, value: WireMessage | None) -> None:
        """Remember or drop a record's unknown tags."""
        tags: UnknownTaggedFields = () if value is None else getattr(value, "unknown_tagged_fields", ())
        if tags:
            self._tags[encode_key(key)] = tags
        elif self._tags:
            self._tags.pop(encode_key(key), None)

    def restore(self, records: Sequence[CoordinatorRecord]) -> Sequence[CoordinatorRecord]:
        """Add to records about to be written the tags of those that they replace."""
        return [self._restored(record) for record in records] if self._tags else records

    def _restored(self, record: CoordinatorRecord) -> CoordinatorRecord:
        value = record.value
        if value is None or record.version not in value.SCHEMA.info.flexible:
            return record
        tags = self._tags.get(encode_key(record.key))
        if tags is None:
            return record
        return CoordinatorRecord(record.key, msgspec.structs.replace(value, unknown_tagged_fields=tags), record.version)
