"""Arrays of plain structs: what their elements look like is guessed from the first, checked, and then done at once.

A struct is plain if it holds nothing but fixed-width fields and arrays of them. Once the lengths of its arrays are
known, its size is, and a whole array of such structs is one `iter_unpack`, if the length bytes of all elements agree.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.codec.source import FIXED, Source

if TYPE_CHECKING:
    from falkirk.protocol.codec.layout import StructLayout

Lengths = tuple[int, ...]
# (buffer, position, count) -> (elements, position behind them, number of elements of their arrays). Any: structs
_Run = Callable[[bytes, int, int], tuple[list[Any], int, int]]

# Below this many elements a guess costs more than it saves.
GUESS_MIN: Final = 8
REGUESS_MIN: Final = 6  # where the shape is known beforehand
# Arrays longer than this, and shapes beyond so many, are not worth a function of their own.
_LENGTH_MAX: Final = 40
_SHAPES_MAX: Final = 256


def is_plain(layout: StructLayout) -> bool:
    """Return whether the struct's size depends on the lengths of its arrays alone, tagged fields aside."""
    return all(field.type in FIXED and not field.nullable for field in layout.fields)


def has_arrays(layout: StructLayout) -> bool:
    """Return whether a plain struct's size depends on anything at all."""
    return any(field.is_array for field in layout.fields)


class DecodeShapes(dict[Lengths, _Run]):
    """Array lengths -> function that reads elements of that shape.

    The elements are empty, and the position is the old one, where not all elements have that shape.
    """

    def __init__(self, layout: StructLayout, defaults: dict[str, str], constants: dict[str, Any]) -> None:
        super().__init__()
        self._layout = layout
        self._defaults = defaults
        self._constants = constants

    def __missing__(self, lengths: Lengths) -> _Run:
        if max(lengths, default=0) > _LENGTH_MAX or len(self) >= _SHAPES_MAX:
            return _decline
        self[lengths] = found = self._compile(lengths)
        return found

    def _compile(self, lengths: Lengths) -> _Run:
        source = Source()
        left = list(lengths)
        codes, names, values = [], [], {}
        fixed: list[bytes] = []  # what stands where, b"" for one byte of data
        for field in self._layout.fields:
            character, size = FIXED[field.type]
            count = left.pop(0) if field.is_array else 1
            if field.is_array:
                prefix = bytes([count + 1]) if field.flexible else count.to_bytes(4, "big")
                codes.append(f"{len(prefix)}x")
                fixed += [bytes([byte]) for byte in prefix]
            own = [source.name() for _ in range(count)]
            codes += [character] * count
            fixed += [b""] * size * count
            names += own
            values[field.attribute] = f"({''.join(f'{name},' for name in own)})" if field.is_array else own[0]
        if self._layout.flexible:
            codes.append("x")
            fixed.append(b"\0")
        unpack = source.constant(struct.Struct(">" + "".join(codes)).iter_unpack, "S")
        size = len(fixed)
        source.line(f"e = p + n * {size}")
        checks = [f"buf[p + {at}:e:{size}] != {byte!r} * n" for at, byte in enumerate(fixed) if byte]
        source.line(f"if {' or '.join(['e > len(buf)', *checks])}: return [], p, 0")
        arguments = [
            values.get(name) or self._defaults[name] for name in self._layout.cls.__struct_fields__
            if name != "unknown_tagged_fields"
        ]  # fmt: skip
        cls = source.constant(self._layout.cls, "C")
        elements = f"[{cls}({', '.join(arguments)}) for [{', '.join(names)}] in {unpack}(buf[p:e])]"
        source.line(f"return {elements}, e, {sum(lengths)} * n")
        return source.compile("def run(buf, p, n):", f"array of {self._layout.cls.__name__}", self._constants)


def _decline(_buffer: bytes, position: int, _count: int) -> tuple[list[Any], int, int]:  # Any: structs
    return [], position, 0


class EncodeShapes(dict[Lengths, "Callable[..., bytes]"]):
    """Array lengths -> `pack` of a whole element: its fields in wire order, each array as its prefix and elements."""

    def __init__(self, layout: StructLayout) -> None:
        super().__init__()
        self._layout = layout

    def __missing__(self, lengths: Lengths) -> Callable[..., bytes]:
        if len(self) >= _SHAPES_MAX:
            self.clear()
        left = list(lengths)
        codes = []
        for field in self._layout.fields:
            character, _ = FIXED[field.type]
            codes.append(("B" if field.flexible else "i") + character * left.pop(0) if field.is_array else character)
        pack = struct.Struct(">" + "".join(codes) + ("B" if self._layout.flexible else "")).pack
        self[lengths] = pack
        return pack
