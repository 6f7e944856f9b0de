"""One message's bytes in one version: its schema with all that depends on versions and layouts decided."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from falkirk.protocol.errors import UnsupportedVersionError

if TYPE_CHECKING:
    from falkirk.protocol.schema import Field, StructSchema, WireMessage, WireStruct


@dataclass(frozen=True, slots=True, kw_only=True)
class WireField:
    """A field that is on the wire. `type` is a primitive's name, or "struct" with `struct` set."""

    attribute: str
    json_name: str
    type: str
    is_array: bool
    nullable: bool
    flexible: bool
    tag: int | None
    default: Any  # of the field's own type; `...` stands for an empty list or a struct of defaults
    struct: StructLayout | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AbsentField:
    """A field that this version lacks: it decodes to its default, and must have it unless it is ignorable."""

    attribute: str
    name: str
    ignorable: bool
    is_array: bool
    struct: "type[WireStruct] | None"
    default: Any  # as above


@dataclass(frozen=True, slots=True, kw_only=True)
class StructLayout:
    """One struct: its class and its fields.

    `all_fields` are in the schema's order; of these `fields` are in wire order, `tagged` in tag order.
    """

    cls: "type[WireStruct]"
    flexible: bool
    all_fields: tuple[WireField, ...]
    fields: tuple[WireField, ...]
    tagged: tuple[WireField, ...]
    absent: tuple[AbsentField, ...]


@cache
def message_layout(cls: type[WireMessage], version: int, layout: int | None = None) -> StructLayout:
    """Resolve a message; `layout` None is the last one.

    Raises UnsupportedVersionError for a version that the message never had.
    """
    info = cls.SCHEMA.info
    if version not in info.versions:
        raise UnsupportedVersionError(f"{info.name} has no version {version}; it has {info.versions}")
    chosen = info.layouts - 1 if layout is None else layout
    return _struct_layout(cls, cls.SCHEMA, version, chosen, flexible=version in info.flexible)


def _struct_layout(
    cls: type[WireStruct], schema: StructSchema, version: int, layout: int, *, flexible: bool
) -> StructLayout:
    present = [field for field in schema.fields if field.exists(version, layout)]
    here = {field.attribute for field in present}
    absent = {field.attribute: field for field in schema.fields if field.attribute not in here}
    wire = [_wire_field(field, version, layout, flexible=flexible) for field in present]
    return StructLayout(
        cls=cls,
        flexible=flexible,
        all_fields=tuple(wire),
        fields=tuple(field for field in wire if field.tag is None),
        tagged=tuple(sorted((field for field in wire if field.tag is not None), key=lambda field: field.tag or 0)),
        absent=tuple(_absent_field(field) for field in absent.values()),
    )


def _wire_field(field: Field, version: int, layout: int, *, flexible: bool) -> WireField:
    struct = None
    if not isinstance(field.type, str):
        struct = _struct_layout(field.type, field.type.SCHEMA, version, layout, flexible=flexible)
    return WireField(
        attribute=field.attribute,
        json_name=field.json_name(layout),
        type="struct" if struct else str(field.type),
        is_array=field.is_array,
        nullable=version in field.nullable,
        flexible=flexible if field.flexible is None else version in field.flexible,
        tag=field.tag,
        default=field.default,
        struct=struct,
    )


def _absent_field(field: Field) -> AbsentField:
    return AbsentField(
        attribute=field.attribute,
        name=field.name,
        ignorable=field.ignorable,
        is_array=field.is_array,
        struct=None if isinstance(field.type, str) else field.type,
        default=field.default,
    )
