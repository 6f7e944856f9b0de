"""Bases of the structs in modules that may be compiled: a compiled class drops its keywords, and inherits options."""

from __future__ import annotations

from typing import dataclass_transform

import msgspec


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenStruct(msgspec.Struct, frozen=True):
    """A struct whose fields do not change."""


@dataclass_transform(frozen_default=True, field_specifiers=(msgspec.field,))
class FrozenLeaf(msgspec.Struct, frozen=True, gc=False):
    """The same, and never part of a circle: the garbage collector does not look at it."""


@dataclass_transform(eq_default=False, field_specifiers=(msgspec.field,))
class IdentityStruct(msgspec.Struct, eq=False):
    """A struct that equals nothing but itself."""
