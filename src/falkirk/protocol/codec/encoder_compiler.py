"""Compile an encoder: one function of straight-line Python per message, version and layout.

Adjacent fixed-width fields are packed at once; pieces are collected in a list and joined at the end. Whatever goes
wrong, the reference codec writes the message again to say in which field.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.codec.decoder_compiler import STRING_BYTES_MAX, MalformedError
from falkirk.protocol.codec.shapes import EncodeShapes, is_plain
from falkirk.protocol.codec.source import FIXED, Source
from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.varint import encode_unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from falkirk.protocol.codec.layout import AbsentField, StructLayout, WireField
    from falkirk.protocol.schema import UnknownTaggedFields

FAST_PATH_ERRORS: Final = (
    MalformedError,
    LocalProtocolError,
    struct.error,
    TypeError,
    AttributeError,
    UnicodeEncodeError,
    OverflowError,
)

# Nulls as the compiled code writes them.
_NULL_COMPACT: Final = r'b"\x00"'
_NULL_STRING: Final = r'b"\xff\xff"'
_NULL_ARRAY: Final = r'b"\xff\xff\xff\xff"'

# Arrays up to this length take part in packing a whole struct at once.
_SHAPED_LENGTH_MAX: Final = 32
# Small pieces are joined when there are so many: each takes more memory for itself than for its bytes.
_PIECES_MAX: Final = 1024
# Below this a copy is cheaper than one more piece to write.
_OWN_PIECE_BYTES_MIN: Final = 16 * 1024

_FORMAT_NAME = str.maketrans({">": "", "?": "t"})


def compile_encoder(layout: StructLayout, title: str) -> Callable[[Any], list[bytes]]:  # Any: the layout's class
    """Return a function message -> pieces. It raises one of FAST_PATH_ERRORS on a value that the wire cannot hold.

    Fields of bytes are pieces of their own, as they are in the message: one that is no buffer shows when they are
    joined.
    """
    return _compile(layout, title, in_slices=False)


def compile_sliced_encoder(
    layout: StructLayout, title: str
) -> Callable[[Any], Generator[None, None, list[bytes]]]:  # Any: the layout's class
    """Return a generator function of the same, which yields after each `_PIECES_MAX` pieces of an array."""
    return _compile(layout, title, in_slices=True)


def _compile(layout: StructLayout, title: str, *, in_slices: bool) -> Callable[[Any], Any]:
    source = encoder_source(layout, in_slices=in_slices)
    return source.compile("def encode(m):\n    out = []; joined = []", title, _NAMESPACE)


def encoder_source(layout: StructLayout, *, in_slices: bool = False) -> Source:
    """Return the body of the function."""
    compiler = _EncoderCompiler(in_slices=in_slices)
    compiler.struct(layout, "m")
    compiler.flush()
    if in_slices:
        # A message without arrays is a generator, too.
        compiler.source.line("if False: yield")
    compiler.source.line("return joined + out if joined else out")
    return compiler.source


def join_small(pieces: Sequence[bytes]) -> list[bytes]:
    """Join neighbouring small pieces; large ones stay as they are, uncopied."""
    if max(map(len, pieces), default=0) < _OWN_PIECE_BYTES_MIN:
        return [b"".join(pieces)]
    joined: list[bytes] = []
    small: list[bytes] = []
    for piece in pieces:
        if len(piece) < _OWN_PIECE_BYTES_MIN:
            small.append(piece)
            continue
        if small:
            joined.append(b"".join(small))
            small.clear()
        joined.append(piece)
    if small:
        joined.append(b"".join(small))
    return joined


def encode_tags(tagged: UnknownTaggedFields) -> bytes:
    """Write a tagged-field section, in tag order."""
    out = [encode_unsigned_varint(len(tagged))]
    for tag, payload in sorted(tagged, key=lambda item: item[0]):
        out += (encode_unsigned_varint(tag), encode_unsigned_varint(len(payload)), payload)
    return b"".join(out)


def _string_length(length: int) -> bytes:
    if length > STRING_BYTES_MAX + 1:
        raise MalformedError
    return encode_unsigned_varint(length)


_NAMESPACE: Final[dict[str, Any]] = {  # Any: globals of compiled code
    "Malformed": MalformedError,
    "join_small": join_small,
    "uvarint": encode_unsigned_varint,
    "string_length": _string_length,
    "encode_tags": encode_tags,
    "pack": struct.pack,
    "UV": tuple(bytes([n]) for n in range(128)),
    "short": struct.Struct(">h").pack,
    "int32": struct.Struct(">i").pack,
}


class _EncoderCompiler:
    def __init__(self, *, in_slices: bool) -> None:
        self.source = Source()
        self._after_piece = "; yield" if in_slices else ""
        self._out = "out"
        self._run: list[tuple[str, str]] = []
        self._pieces: list[str] = []

    def struct(self, layout: StructLayout, value: str) -> None:
        """Write the struct that the expression `value` names."""
        for absent in layout.absent:
            if not absent.ignorable:
                self.source.line(f"if {self._is_set(absent, f'{value}.{absent.attribute}')}: raise Malformed")
        for field in layout.fields:
            self._field(field, f"{value}.{field.attribute}")
        if layout.flexible:
            self._tags(layout, value)

    def flush(self) -> None:
        """Emit what has been put off."""
        self._flush_run()
        pieces, self._pieces = self._pieces, []
        if len(pieces) == 1:
            self.source.line(f"{self._out}.append({pieces[0]})")
        elif pieces:
            self.source.line(f"{self._out} += ({', '.join(pieces)})")

    def _flush_run(self) -> None:
        run, self._run = self._run, []
        if run:
            packed = struct.Struct(">" + "".join(character for _, character in run))
            name = self.source.constant(packed.pack, f"P{packed.format.translate(_FORMAT_NAME)}")
            self._pieces.append(f"{name}({', '.join(value for value, _ in run)})")

    def _piece(self, expression: str) -> None:
        self._flush_run()
        self._pieces.append(expression)

    def _field(self, field: WireField, value: str) -> None:
        if field.is_array:
            self._array(field, value)
        elif field.struct is not None:
            self._struct_field(field, field.struct, value)
        elif field.type == "uuid":
            name = self.source.name()
            self.source.line(f"{name} = {value}")
            self.source.line(f"if len({name}) != 16: raise Malformed")
            self._run.append((name, "16s"))
        elif field.type in FIXED:
            self._run.append((value, FIXED[field.type][0]))
        elif field.type == "string":
            self._string(value, nullable=field.nullable, flexible=field.flexible)
        else:
            self._bytes(field, value)

    def _string(self, value: str, *, nullable: bool, flexible: bool) -> None:
        source = self.source
        encoded, length = source.name("b"), source.name("n")
        if nullable:
            name = source.name()
            source.line(f"{name} = {value}")
            with source.block(f"if {name} is None:"):
                source.line(f"{encoded} = {_NULL_COMPACT if flexible else _NULL_STRING}")
            with source.block("else:"):
                source.line(f"{encoded} = {name}.encode(); {length} = len({encoded}){' + 1' if flexible else ''}")
                source.line(f"{encoded} = {self._string_prefix(length, flexible=flexible)} + {encoded}")
            self._piece(encoded)
            return
        source.line(f"{encoded} = {value}.encode(); {length} = len({encoded}){' + 1' if flexible else ''}")
        self._piece(self._string_prefix(length, flexible=flexible))
        self._piece(encoded)

    @staticmethod
    def _string_prefix(length: str, *, flexible: bool) -> str:
        return f"(UV[{length}] if {length} < 128 else string_length({length}))" if flexible else f"short({length})"

    @staticmethod
    def _prefix(length: str, *, flexible: bool) -> str:
        return f"(UV[{length}] if {length} < 128 else uvarint({length}))" if flexible else f"int32({length})"

    def _bytes(self, field: WireField, value: str) -> None:
        source = self.source
        name, length = source.name("b"), source.name("n")
        source.line(f"{name} = {value}")
        more = " + 1" if field.flexible else ""
        if field.nullable:
            prefix = source.name("x")
            null = _NULL_COMPACT if field.flexible else _NULL_ARRAY
            source.line(f'if {name} is None: {prefix} = {null}; {name} = b""')
            with source.block("else:"):
                source.line(f"{length} = len({name}){more}")
                source.line(f"{prefix} = {self._prefix(length, flexible=field.flexible)}")
            self._piece(prefix)
        else:
            source.line(f"{length} = len({name}){more}")
            self._piece(self._prefix(length, flexible=field.flexible))
        self._piece(name)

    def _struct_field(self, field: WireField, layout: StructLayout, value: str) -> None:
        name = self.source.name()
        self.source.line(f"{name} = {value}")
        if not field.nullable:
            self.struct(layout, name)
            return
        self.flush()
        null = r"\xff" if field.tag is None else r"\x00"  # see the decoder
        self.source.line(f'if {name} is None: {self._out}.append(b"{null}")')
        with self.source.block("else:"):
            self._piece(r'b"\x01"')
            self.struct(layout, name)
            self.flush()

    def _array(self, field: WireField, value: str) -> None:
        source = self.source
        name, length = source.name("a"), source.name("n")
        source.line(f"{name} = {value}")
        if field.nullable:
            self.flush()
            null = _NULL_COMPACT if field.flexible else _NULL_ARRAY
            source.line(f"if {name} is None: {self._out}.append({null})")
            with source.block("else:"):
                self._elements(field, name, length)
                self.flush()
            return
        self._elements(field, name, length)

    def _elements(self, field: WireField, name: str, length: str) -> None:
        source = self.source
        source.line(f"{length} = len({name}){' + 1' if field.flexible else ''}")
        self._piece(self._prefix(length, flexible=field.flexible))
        count = f"len({name})"
        if field.type == "uuid":
            with source.block(f"for i in {name}:"):
                source.line("if len(i) != 16: raise Malformed")
            self._piece(f'b"".join({name})')
            return
        if field.type in FIXED:
            character = FIXED[field.type][0]
            self._piece(f"pack(f'>{{{count}}}{character}', *{name})")
            return
        self.flush()
        item = source.name("i")
        with source.block(f"for {item} in {name}:"):
            if field.struct is None:
                self._string(item, nullable=False, flexible=field.flexible)
            elif is_plain(field.struct) and not field.struct.tagged and field.struct.fields:
                self._plain_struct(field.struct, item)
            else:
                self.struct(field.struct, item)
            self.flush()
            if self._out == "out":
                source.line(f"if len(out) > {_PIECES_MAX}: joined += join_small(out); out.clear(){self._after_piece}")

    def _plain_struct(self, layout: StructLayout, item: str) -> None:
        """Pack an element at once, if its arrays are short and it has no unknown tagged fields."""
        source = self.source
        if any(not absent.ignorable for absent in layout.absent) or any(
            field.type == "uuid" for field in layout.fields
        ):
            self.struct(layout, item)
            return
        conditions = [f"{item}.unknown_tagged_fields"] if layout.flexible else []
        lengths, values = [], []
        for field in layout.fields:
            if not field.is_array:
                values.append(f"{item}.{field.attribute}")
                continue
            array, length = source.name("a"), source.name("n")
            source.line(f"{array} = {item}.{field.attribute}; {length} = len({array})")
            lengths.append(length)
            conditions.append(f"{length} > {_SHAPED_LENGTH_MAX}")
            values += [f"{length} + 1" if field.flexible else length, f"*{array}"]
        if layout.flexible:
            values.append("0")
        pack = f"{source.constant(EncodeShapes(layout), 'K')}[{''.join(f'{name}, ' for name in lengths) or '()'}]"
        packed = f"{self._out}.append({pack}({', '.join(values)}))"
        if not conditions:
            source.line(packed)
            return
        with source.block(f"if {' or '.join(conditions)}:"):
            self.struct(layout, item)
            self.flush()
        source.line(f"else: {packed}")

    def _tags(self, layout: StructLayout, value: str) -> None:
        source = self.source
        unknown = source.name("u")
        source.line(f"{unknown} = {value}.unknown_tagged_fields")
        for field in layout.tagged:
            self._tag(field, f"{value}.{field.attribute}", unknown)
        self._piece(rf'encode_tags({unknown}) if {unknown} else b"\0"')

    def _tag(self, field: WireField, value: str, unknown: str) -> None:
        """Add a tagged field to `unknown`, unless it has its default."""
        self.flush()
        source = self.source
        name, out, outer = source.name("t"), source.name("out"), self._out
        source.line(f"{name} = {value}")
        with source.block(f"if {self._is_set(field, name)}:"):
            source.line(f"{out} = []")
            self._out = out
            self._field(field, name)
            self.flush()
            self._out = outer
            source.line(f'{unknown} += (({field.tag}, b"".join({out})),)')

    def _is_set(self, field: WireField | AbsentField, value: str) -> str:
        """Return the condition for a value that is not the default."""
        if field.default is None:
            return f"{value} is not None"
        if field.default is not ...:
            return f"{value} != {field.default!r}"
        if field.is_array:
            return f"({value} is None or {value})"
        cls = field.struct.cls if not isinstance(field.struct, type) and field.struct is not None else field.struct
        return f"{value} != {self.source.constant(cls, 'C')}()"
