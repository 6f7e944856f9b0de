"""What the codecs are compiled from: each message's fields, their types, versions, tags and layouts.

The generated classes in `messages` carry one schema each. A version can have more than one layout (eleven messages
changed between releases without a version bump); layouts are numbered from 0 in the order in which they came, and
the last one is used unless the caller names another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

import msgspec

from falkirk.protocol.version_range import VersionRanges, version_ranges

Primitive = Literal[
    "bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "uuid", "bytes", "records"
]
Kind = Literal["request", "response", "header", "metadata", "coordinator-key", "coordinator-value", "data"]

# (tag, payload) pairs that this schema does not know; kept, and written again.
UnknownTaggedFields = tuple[tuple[int, bytes], ...]

ZERO_UUID: Final = bytes(16)

_IMPLIED: Final[dict[str, Any]] = {  # Any: defaults of every primitive type
    "bool": False,
    "string": "",
    "uuid": ZERO_UUID,
    "bytes": b"",
    "records": None,
    "float64": 0.0,
}


class WireStruct(msgspec.Struct, gc=False):
    """Base of all generated classes: a message, or a struct inside one.

    UUIDs are 16 bytes; arrays of structs are lists, arrays of anything else tuples (which garbage collection skips).
    """

    SCHEMA: ClassVar[StructSchema]


class Field:
    """One field, as the notation in `schemas/messages` has it."""

    __slots__ = (
        "attribute", "default", "flexible", "has_default", "ignorable", "is_array", "layouts", "name", "nullable",
        "old_names", "tag", "type", "versions",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        attribute: str,
        type_: Primitive | type[WireStruct],
        versions: str,
        *,
        array: bool = False,
        nullable: str = "none",
        tag: int | None = None,
        default: Any = ...,  # Any: of the field's own type
        ignorable: bool = False,
        flexible: str | None = None,
        layouts: tuple[int, ...] | None = None,
        old_names: dict[int, str] | None = None,
    ) -> None:
        self.name = name
        self.attribute = attribute
        self.type = type_
        self.versions = version_ranges(versions)
        self.is_array = array
        self.nullable = version_ranges(nullable)
        self.tag = tag
        self.has_default = default is not ...
        self.default = default if self.has_default else self._implied_default()
        self.ignorable = ignorable
        self.flexible = None if flexible is None else version_ranges(flexible)
        self.layouts = layouts
        self.old_names = old_names or {}

    def _implied_default(self) -> Any:  # Any: of the field's own type; an array's or struct's is made anew by its class
        if self.is_array or not isinstance(self.type, str):
            return ...
        return _IMPLIED.get(self.type, 0)

    def exists(self, version: int, layout: int) -> bool:
        """Return whether the field is encoded in this version and layout."""
        return version in self.versions and (self.layouts is None or layout in self.layouts)

    def json_name(self, layout: int) -> str:
        """Return the field's name in Kafka's JSON form, in the releases of this layout."""
        name = self.old_names.get(layout, self.name)
        return name[0].lower() + name[1:]


class StructSchema:
    """The fields of one struct in wire order."""

    __slots__ = ("fields",)

    def __init__(self, *fields: Field) -> None:
        self.fields = fields


@dataclass(frozen=True, slots=True)
class MessageInfo:
    """What stands in a message's head."""

    name: str
    kind: Kind
    key: int | None
    versions: VersionRanges
    flexible: VersionRanges
    layouts: int


class MessageSchema(StructSchema):
    """A struct that is a message of its own."""

    __slots__ = ("info",)

    def __init__(
        self,
        name: str,
        kind: Kind,
        *fields: Field,
        versions: str,
        flexible: str,
        key: int | None = None,
        layouts: int = 1,
    ) -> None:
        super().__init__(*fields)
        self.info = MessageInfo(name, kind, key, version_ranges(versions), version_ranges(flexible), layouts)


class WireMessage(WireStruct, gc=False):
    """Base of the generated message classes."""

    SCHEMA: ClassVar[MessageSchema]
