"""Tagged fields that no release up to 4.4 knows, by the object whose records carried them.

An image does not know what such a field means for later changes of the object, so the fields are not written again;
they are kept to be reported as lost. A full record replaces the tags of its object, a change adds to them, a removal
removes them. Records that describe no object (NoOp, transaction markers) or remove one have no object for tags.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from immutables import Map

from falkirk.metadata.image.configs import TOPIC
from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.metadata.records.record_key import ObjectKey, object_key

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage


_CHANGES: Final = frozenset(
    {
        "PartitionChangeRecord",
        "BrokerRegistrationChangeRecord",
        "FenceBrokerRecord",
        "UnfenceBrokerRecord",
        "ClearElrRecord",
    }
)
_REMOVALS: Final = frozenset(
    {
        "UnregisterBrokerRecord",
        "UnregisterControllerRecord",
        "RemoveTopicRecord",
        "RemoveAccessControlEntryRecord",
        "RemoveUserScramCredentialRecord",
        "RemoveDelegationTokenRecord",
    }
)
_REMOVING_VALUES: Final[dict[str, tuple[str, Any]]] = {  # Any: of the field's own type
    "ConfigRecord": ("value", None),
    "ClientQuotaRecord": ("remove", True),
    "FeatureLevelRecord": ("feature_level", 0),
}
_NESTED: Final = {
    "RegisterBrokerRecord": {"end_points": "endPoints", "features": "features"},
    "RegisterControllerRecord": {"end_points": "endPoints", "features": "features"},
    "ClientQuotaRecord": {"entity": "entity"},
}


class UnknownTag(msgspec.Struct, frozen=True, gc=False):
    """One field: the record it was in, the struct in it ("" for the record itself, else as `endPoints[0]`)."""

    record: str
    path: str
    tag: int
    data: bytes


class UnknownTagsImage(msgspec.Struct, frozen=True):
    """Unknown fields by object; almost always empty."""

    tags: Map[ObjectKey, tuple[UnknownTag, ...]] = Map()


class UnknownTagsDelta:
    """What changes of the unknown fields."""

    def __init__(self, image: UnknownTagsImage) -> None:
        self.image = image
        self.tags = KeyedDelta(image.tags)

    def replay(self, record: WireMessage, topic_name: str | None) -> None:
        """Add the unknown fields of a record; `topic_name` is that of a topic that it removes."""
        name = type(record).__name__
        key = object_key(record)
        if key is None:
            return
        if name == "RemoveTopicRecord":
            self._remove_topic(record.topic_id, topic_name)  # type: ignore[attr-defined] # the name says the class
            return
        found = () if removes_object(record) else unknown_tags_of(record)
        if name in _CHANGES:
            if found:
                self.tags.put(key, (self.tags.get(key) or ()) + found)
        elif found:
            self.tags.put(key, found)
        else:
            self.tags.remove(key)

    def clear(self) -> None:
        """Remove the fields of all objects."""
        for key in {*self.image.tags, *self.tags.changes}:
            self.tags.remove(key)

    def apply(self) -> UnknownTagsImage:
        """Return the next image."""
        return UnknownTagsImage(self.tags.apply())

    @classmethod
    def between(cls, before: UnknownTagsImage, after: UnknownTagsImage) -> UnknownTagsDelta:
        """Return the delta from one image to the other."""
        delta = cls(before)
        delta.tags = KeyedDelta.between(before.tags, after.tags)
        return delta

    def _remove_topic(self, topic_id: bytes, name: str | None) -> None:
        for key in {*self.image.tags, *self.tags.changes}:
            of_topic = key.kind in {"topic", "partition"} and key.identity[0] == topic_id
            of_name = key.kind == "topic_elr" and key.identity[0] == name
            of_config = key.kind == "config" and key.identity[:2] == (TOPIC, name)
            if of_topic or of_name or of_config:
                self.tags.remove(key)


def has_unknown_tags(record: WireMessage) -> bool:
    """Return whether a record or a struct in it has unknown fields; quick."""
    if record.unknown_tagged_fields:  # type: ignore[attr-defined] # every metadata record is flexible
        return True
    name = type(record).__name__
    return name in _NESTED and any(
        struct.unknown_tagged_fields for attribute in _NESTED[name] for struct in getattr(record, attribute)
    )


def unknown_tags_of(record: WireMessage) -> tuple[UnknownTag, ...]:
    """Return the unknown fields of a record and of the structs in it."""
    name = type(record).__name__
    structs: list[tuple[str, Any]] = [("", record)]  # Any: generated classes without a common field
    for attribute, json_name in _NESTED.get(name, {}).items():
        structs += [(f"{json_name}[{index}]", item) for index, item in enumerate(getattr(record, attribute))]
    return tuple(
        UnknownTag(name, path, tag, data) for path, item in structs for tag, data in item.unknown_tagged_fields
    )


def removes_object(record: WireMessage) -> bool:
    """Return whether the record removes the object that it names."""
    name = type(record).__name__
    if name in _REMOVALS:
        return True
    field = _REMOVING_VALUES.get(name)
    return field is not None and getattr(record, field[0]) == field[1]
