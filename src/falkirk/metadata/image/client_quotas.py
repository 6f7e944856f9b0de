"""Quotas of users, clients and addresses (KIP-546)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import NestedDelta
from falkirk.metadata.records.record_key import QuotaEntity, quota_entity
from falkirk.protocol.messages import ClientQuotaRecord
from falkirk.protocol.messages.client_quota_record import EntityData

if TYPE_CHECKING:
    from collections.abc import Iterator


class ClientQuotasImage(msgspec.Struct, frozen=True):
    """Quotas by entity; an entity without quotas is absent. A null name stands for the default entity of its type."""

    entities: Map[QuotaEntity, Map[str, float]] = Map()

    def __iter__(self) -> Iterator[tuple[QuotaEntity, str, float]]:
        """Yield (entity, key, value) in a fixed order."""
        for entity in sorted(self.entities, key=_default_first):
            for key, value in sorted(self.entities[entity].items()):
                yield entity, key, value

    @property
    def quota_count(self) -> int:
        """Count the quotas of all entities."""
        return sum(len(quotas) for quotas in self.entities.values())


class ClientQuotasDelta:
    """Pending changes of the quotas."""

    def __init__(self, image: ClientQuotasImage) -> None:
        self.image = image
        self.entities: NestedDelta[QuotaEntity, float] = NestedDelta(image.entities)

    def replay_client_quota(self, record: ClientQuotaRecord) -> None:
        """Set or remove a quota."""
        entity = quota_entity(record.entity)
        if record.remove:
            self.entities.remove(entity, record.key)
        else:
            self.entities.put(entity, record.key, record.value)

    def apply(self) -> ClientQuotasImage:
        """Return the next image."""
        return ClientQuotasImage(self.entities.apply())

    @classmethod
    def between(cls, before: ClientQuotasImage, after: ClientQuotasImage) -> ClientQuotasDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.entities = NestedDelta.between(before.entities, after.entities)
        return delta


def client_quota_record(entity: QuotaEntity, key: str, value: float) -> tuple[ClientQuotaRecord, int]:
    """Return one quota as (record, record version)."""
    data = [EntityData(entity_type, entity_name) for entity_type, entity_name in entity]
    return ClientQuotaRecord(entity=data, key=key, value=value), 0


def _default_first(entity: QuotaEntity) -> tuple[tuple[str, bool, str], ...]:
    return tuple((entity_type, name is not None, name or "") for entity_type, name in entity)
