"""How to locate the fields of one flat message in one version, derived from the schema that the row codec uses too.

Flat means: fixed-width values, strings, bytes and arrays of fixed-width values, tagged or not. Messages with structs
inside are left to the row codec.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

from falkirk.protocol.codec.decoder_compiler import STRING_BYTES_MAX
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.source import FIXED

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import AbsentField, WireField
    from falkirk.protocol.schema import WireMessage

LengthForm = Literal["fixed", "compact", "int16", "int32"]

_NO_LIMIT: Final = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedField:
    """One field on the wire: a length in one of four forms (none for "fixed"), then elements of `size` bytes."""

    attribute: str
    type: str
    is_array: bool
    form: LengthForm
    size: int
    nullable: bool
    length_max: int
    tag: int | None
    default: Any  # of the field's own type; `...` stands for an empty list


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlan:
    """All fields of a message version: `fields` in wire order, then `tagged` in any order (flexible versions only)."""

    message: str
    flexible: bool
    fields: tuple[PlannedField, ...]
    tagged: tuple[PlannedField, ...]
    # Attributes that this version lacks, with their defaults.
    absent: tuple[AbsentField, ...]


@cache
def field_plan(cls: type[WireMessage], version: int, layout: int | None = None) -> FieldPlan:
    """Plan a message version. Raises ValueError if it is not flat, UnsupportedVersionError if it does not exist."""
    found = message_layout(cls, version, layout)
    return FieldPlan(
        message=cls.SCHEMA.info.name,
        flexible=found.flexible,
        fields=tuple(_planned(cls, field) for field in found.fields),
        tagged=tuple(_planned(cls, field) for field in found.tagged),
        absent=found.absent,
    )


def _planned(cls: type[WireMessage], field: WireField) -> PlannedField:
    is_text = field.type in {"string", "bytes"}
    if field.struct is not None or field.type == "records" or (is_text and field.is_array):
        raise ValueError(f"{cls.__name__}.{field.attribute} is not flat")
    form: LengthForm = "fixed"
    if is_text or field.is_array:
        short = field.type == "string" and not field.is_array
        form = "compact" if field.flexible else "int16" if short else "int32"
    return PlannedField(
        attribute=field.attribute,
        type=field.type,
        is_array=field.is_array,
        form=form,
        size=1 if is_text else FIXED[field.type][1],
        nullable=field.nullable,
        length_max=STRING_BYTES_MAX if field.type == "string" else _NO_LIMIT,
        tag=field.tag,
        default=field.default,
    )
