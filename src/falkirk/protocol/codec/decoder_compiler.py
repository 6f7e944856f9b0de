"""Compile a decoder: one function of straight-line Python per message, version and layout.

Adjacent fixed-width fields are read by one `struct.Struct`, together with the length byte that follows them. No
field checks that the buffer is long enough: a read behind its end raises or comes out short, and one check at the end
of the message catches the rest. Whatever goes wrong, the reference codec reads the message again to say where.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from falkirk.protocol.codec.shapes import GUESS_MIN, REGUESS_MIN, DecodeShapes, has_arrays, is_plain
from falkirk.protocol.codec.source import FIXED, Source
from falkirk.protocol.errors import RemoteProtocolError, TooManyElementsError
from falkirk.protocol.varint import decode_unsigned_varint

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from falkirk.protocol.codec.layout import AbsentField, StructLayout, WireField

STRING_BYTES_MAX: Final = 0x7FFF
UNLIMITED: Final = 1 << 62
"""Elements that a message may have where nothing limits them."""
_ARRAY_TABLE_SIZE: Final = 33
OBJECT_WEIGHT: Final = 4
"""What an element counts that is a string, or a struct that is no run of numbers; one that is counts 1."""
UNKNOWN_TAGS_MAX: Final = 16
"""Tagged fields of a struct in a request that are not known here, or repeated: no API has had so many in all."""
_ELEMENTS_PER_SLICE: Final = 1_024
"""Less than 1 ms."""
# Up to here a copy costs less than a view.
_OWN_RECORDS_BYTES_MAX: Final = 16 * 1024
_FORMAT_NAME = str.maketrans({">": "", "?": "t"})
_TABLES: dict[str, tuple[Any, ...]] = {}  # Any: bound unpack_from methods


class MalformedError(Exception):
    """The fast path met bytes that it will not take; the reference codec knows which."""


def compile_decoder(
    layout: StructLayout, title: str, *, counts_elements: bool
) -> Callable[[bytes, int, int], tuple[Any, int]]:  # Any: the layout's class
    """Return a function (bytes, position, elements_max) -> (message, position behind it).

    It raises one of FAST_PATH_ERRORS on bytes that do not parse, and TooManyElementsError if `counts_elements` and the
    message's arrays have more than `elements_max` elements together, those that are heavy, and unknown tagged fields,
    counted as OBJECT_WEIGHT, or a struct has more than UNKNOWN_TAGS_MAX of the latter.
    """
    return _compile(layout, title, counts_elements=counts_elements, in_slices=False)


def compile_sliced_decoder(
    layout: StructLayout, title: str
) -> Callable[[bytes, int, int], Generator[None, None, tuple[Any, int]]]:  # Any: the layout's class
    """Return a generator function of the same for a request, which yields after each `_ELEMENTS_PER_SLICE` elements."""
    return _compile(layout, title, counts_elements=True, in_slices=True)


def is_light(field: WireField) -> bool:
    """Return whether an element of an array is a number or a run of numbers, which counts once."""
    return field.type in FIXED or (field.struct is not None and is_plain(field.struct))


def _compile(layout: StructLayout, title: str, *, counts_elements: bool, in_slices: bool) -> Callable[..., Any]:
    source = decoder_source(layout, counts_elements=counts_elements, in_slices=in_slices)
    return source.compile("def decode(buf, p, left):\n    end = len(buf); k = 0", title, _NAMESPACE)


def decoder_source(layout: StructLayout, *, counts_elements: bool, in_slices: bool = False) -> Source:
    """Return the body of the function."""
    compiler = _DecoderCompiler(counts_elements=counts_elements, in_slices=in_slices)
    result = compiler.struct(layout)
    source = compiler.source
    with source.block("if p > end:"):
        source.line("raise Malformed")
    if in_slices:
        # A message without arrays is a generator, too.
        source.line("if False: yield")
    source.line(f"return {result}, p")
    return source


FAST_PATH_ERRORS: Final = (
    MalformedError,
    RemoteProtocolError,
    struct.error,
    IndexError,
    UnicodeDecodeError,
    OverflowError,
    MemoryError,
)


def _string_length(buffer: bytes, position: int) -> tuple[int, int]:
    length, end = decode_unsigned_varint(buffer, position)
    if length > STRING_BYTES_MAX + 1:
        raise MalformedError
    return length, end


def _not_null(reader: Callable[[bytes, int], tuple[int, int]], buffer: bytes, position: int) -> tuple[int, int]:
    length, end = reader(buffer, position)
    if not length:
        raise MalformedError
    return length, end


def _unknown_tags(buffer: bytes, position: int, count: int) -> tuple[tuple[tuple[int, bytes], ...], int]:
    """Read `count` tagged fields; the count's own byte lies behind us, and is read again if it has more of them."""
    if count > 0x7F:
        count, position = decode_unsigned_varint(buffer, position - 1)
    found = []
    for _ in range(count):
        tag, position = decode_unsigned_varint(buffer, position)
        size, position = decode_unsigned_varint(buffer, position)
        found.append((tag, buffer[position : position + size]))
        position += size
    return tuple(found), position


def _too_many(position: int) -> None:
    raise TooManyElementsError("more elements than a request of this API may have", offset=position)


_NAMESPACE: Final[dict[str, Any]] = {  # Any: globals of compiled code
    "Malformed": MalformedError,
    "too_many": _too_many,
    "uvarint": decode_unsigned_varint,
    "string_length": _string_length,
    "not_null": _not_null,
    "unknown_tags": _unknown_tags,
    "unpack_from": struct.unpack_from,
}


class _DecoderCompiler:
    def __init__(self, *, counts_elements: bool, in_slices: bool) -> None:
        self.source = Source()
        self._counts_elements = counts_elements
        self._in_slices = in_slices
        self._run: list[tuple[str, str]] = []
        self._lengths: list[str] = []  # the array lengths and the tag count of the struct being read

    def struct(self, layout: StructLayout) -> str:
        """Read a struct; give the expression that makes it. What it needs is read when this returns."""
        values = {field.attribute: self._field(field) for field in layout.fields}
        if layout.flexible:
            self._tags(layout, values)
        self._flush()
        values |= {absent.attribute: self._absent(absent) for absent in layout.absent}
        arguments = [values.get(attribute, "()") for attribute in layout.cls.__struct_fields__]
        while arguments and arguments[-1] == "()":  # unknown_tagged_fields stands last and is empty by default
            arguments.pop()
        return f"{self.source.constant(layout.cls, 'C')}({', '.join(arguments)})"

    def _field(self, field: WireField) -> str:
        if field.is_array:
            return self._array(field)
        if field.struct is not None:
            return self._struct_field(field, field.struct)
        if field.type in FIXED:
            return self._fixed(FIXED[field.type][0])
        if field.type == "string":
            return self._string(nullable=field.nullable, flexible=field.flexible)
        return self._bytes(field)

    def _fixed(self, character: str, stem: str = "v") -> str:
        name = self.source.name(stem)
        self._run.append((name, character))
        return name

    def _flush(self) -> None:
        """Read what has been put off: one unpack for a run of fixed-width fields."""
        run, self._run = self._run, []
        if not run:
            return
        if [character for _, character in run] == ["B"]:
            self.source.line(f"{run[0][0]} = buf[p]; p += 1")
            return
        packed = struct.Struct(">" + "".join(character for _, character in run))
        unpack = self.source.constant(packed.unpack_from, f"S{packed.format.translate(_FORMAT_NAME)}")
        self.source.line(f"{', '.join(name for name, _ in run)}, = {unpack}(buf, p); p += {packed.size}")

    def _length(self, *, flexible: bool, short: bool) -> str:
        """Read a length; -1 (or compact 0) is null: the result is 1 more than the length if flexible."""
        name = self._fixed("B" if flexible else "h" if short else "i", "n")
        self._flush()
        return name

    def _null_test(self, length: str, *, flexible: bool, nullable: bool, short: bool) -> str | None:
        """Finish reading a length; refuse a null that may not stand, or give the condition of there being a value."""
        source = self.source
        if flexible:
            reader = "string_length" if short else "uvarint"
            if nullable:
                source.line(f"if {length} > 127: {length}, p = {reader}(buf, p - 1)")
                return length
            source.line(f"if not 0 < {length} < 128: {length}, p = not_null({reader}, buf, p - 1)")
            return None
        if nullable:
            source.line(f"if {length} < -1: raise Malformed")
            return f"{length} >= 0"
        source.line(f"if {length} < 0: raise Malformed")
        return None

    def _sized(self, condition: str | None, read: Callable[[], str]) -> str:
        """Emit `read` where the condition holds, else None; give the name of the result."""
        if condition is None:
            return read()
        result = self.source.name()
        with self.source.block(f"if {condition}:"):
            value = read()
            self.source.line(f"{result} = {value}")
        self.source.line(f"else: {result} = None")
        return result

    def _string(self, *, nullable: bool, flexible: bool) -> str:
        length = self._length(flexible=flexible, short=True)
        condition = self._null_test(length, flexible=flexible, nullable=nullable, short=True)

        def read() -> str:
            value = self.source.name()
            self.source.line(f"{value} = buf[p : (p := p + {length}{' - 1' if flexible else ''})].decode()")
            return value

        return self._sized(condition, read)

    def _bytes(self, field: WireField) -> str:
        length = self._length(flexible=field.flexible, short=False)
        condition = self._null_test(length, flexible=field.flexible, nullable=field.nullable, short=False)

        def read() -> str:
            value = self.source.name()
            less = " - 1" if field.flexible else ""
            if field.type != "records":
                self.source.line(f"{value} = buf[p : (p := p + {length}{less})]")
                return value
            # A batch may be large, and who takes it looks at it or writes it: a view of it will do.
            source, view = self.source, self.source.constant(memoryview, "View")
            source.line(f"if {length} < {_OWN_RECORDS_BYTES_MAX}: {value} = buf[p : (p := p + {length}{less})]")
            source.line(f"else: {value} = {view}(buf)[p : (p := p + {length}{less})]")
            return value

        return self._sized(condition, read)

    def _struct_field(self, field: WireField, layout: StructLayout) -> str:
        if not field.nullable:
            return self.struct(layout)
        # A struct that may be null has a byte before it: -1 is null, but 0 within a tagged field.
        present = self._fixed("b", "n")
        self._flush()
        condition = f"{present} >= 0" if field.tag is None else f"{present} > 0"
        return self._sized(condition, lambda: self.struct(layout))

    def _array(self, field: WireField) -> str:
        length = self._length(flexible=field.flexible, short=False)
        condition = self._null_test(length, flexible=field.flexible, nullable=field.nullable, short=False)

        def read() -> str:
            if field.flexible:
                self.source.line(f"{length} -= 1")
            # Each element takes a byte at least: a larger count cannot be true, and must not be believed.
            size = FIXED[field.type][1] if field.type in FIXED else 1
            self.source.line(f"if {length}{f' * {size}' if size > 1 else ''} > end - p: raise Malformed")
            self._lengths.append(length)
            self._count(length if is_light(field) else f"{OBJECT_WEIGHT} * {length}")
            return self._elements(field, length)

        return self._sized(condition, read)

    def _count(self, number: str) -> None:
        if self._counts_elements:
            self.source.line(f"left -= {number}")
            self.source.line("if left < 0: too_many(p)")

    def _after_element(self) -> None:
        if self._in_slices:
            self.source.line("k += 1")
            self._pause()

    def _pause(self) -> None:
        self.source.line(f"if k >= {_ELEMENTS_PER_SLICE}: k = 0; yield")

    def _elements(self, field: WireField, length: str) -> str:
        source = self.source
        result = source.name("a")
        if field.type == "uuid":
            source.line(f"e = p + {length} * 16; {result} = tuple([buf[i : i + 16] for i in range(p, e, 16)]); p = e")
            return result
        if field.type in FIXED:
            character, size = FIXED[field.type]
            table = source.constant(_array_table(character), f"A{character}".replace("?", "t"))
            source.line(f"if {length} < {_ARRAY_TABLE_SIZE}: {result} = {table}[{length}](buf, p)")
            source.line(f"else: {result} = unpack_from(f'>{{{length}}}{character}', buf, p)")
            source.line(f"p += {length} * {size}" if size > 1 else f"p += {length}")
            return result
        source.line(f"{result} = []")
        if field.struct is not None:
            self._struct_elements(field.struct, result, length)
            return result
        # No schema has arrays of nullable strings, or of bytes.
        with source.block(f"for _ in range({length}):"):
            source.line(f"{result}.append({self._string(nullable=False, flexible=field.flexible)})")
            self._after_element()
        source.line(f"{result} = tuple({result})")
        return result

    def _struct_elements(self, layout: StructLayout, result: str, length: str) -> None:
        """Read structs into a list; where they are plain, all at once if they have one shape.

        The shape is that of the array's first element, or that of the last such array before it.
        """
        source = self.source
        if not (is_plain(layout) and layout.fields):
            with source.block(f"for _ in range({length}):"):
                source.line(f"{result}.append({self.struct(layout)})")
                self._after_element()
            return
        defaults = {field.attribute: self._default(field) for field in layout.tagged}
        defaults |= {absent.attribute: self._absent(absent) for absent in layout.absent}
        shapes = source.constant(DecodeShapes(layout, defaults, source.constants), "K")
        run, guess = source.name("run"), source.name("g")
        source.first_line(f"{run} = {'None' if has_arrays(layout) else shapes + '[()]'}")
        with source.block(f"if {run} and {length} >= {REGUESS_MIN}:"):
            self._alike(run, result, length)
        if not has_arrays(layout):
            with source.block(f"for _ in range({length}):"):
                source.line(f"{result}.append({self.struct(layout)})")
                self._after_element()
            return
        source.line(f"{guess} = {length} >= {GUESS_MIN}")
        with source.block(f"while {length}:"):
            outer, self._lengths = self._lengths, []
            source.line(f"{result}.append({self.struct(layout)}); {length} -= 1")
            self._after_element()
            lengths, self._lengths = self._lengths, outer
            tags = f" and not {lengths.pop()}" if layout.flexible else ""
            with source.block(f"if {guess}{tags}:"):
                source.line(f"{guess} = False")
                source.line(f"{run} = {shapes}[{''.join(f'{name}, ' for name in lengths)}]")
                self._alike(run, result, length)

    def _alike(self, run: str, result: str, length: str) -> None:
        """Read elements of one shape, all that are left or, in slices, as many as have it of some at a time."""
        source = self.source
        if not self._in_slices:
            source.line(f"more, p, inner = {run}(buf, p, {length})")
            self._count("inner")
            source.line(f"if more: {result} += more; {length} = 0")
            return
        with source.block(f"while {length}:"):
            source.line(f"more, p, inner = {run}(buf, p, min({length}, {_ELEMENTS_PER_SLICE}))")
            source.line("if not more: break")
            self._count("inner")
            source.line(f"{result} += more; {length} -= len(more); k += len(more)")
            self._pause()

    def _tags(self, layout: StructLayout, values: dict[str, str]) -> None:
        """Read the tagged fields: known ones into `values`, the others as they are."""
        source = self.source
        count = self._fixed("B", "n")
        self._flush()
        self._lengths.append(count)
        for field in layout.tagged:
            values[field.attribute] = name = source.name("t")
            source.line(f"{name} = {self._default(field)}")
        values["unknown_tagged_fields"] = unknown = source.name("u")
        source.line(f"{unknown} = ()")
        if not layout.tagged:
            with source.block(f"if {count}:"):
                self._count_unknown_tags(count, known=0)
                source.line(f"{unknown}, p = unknown_tags(buf, p, {count})")
            return
        with source.block(f"if {count}:"):
            source.line(f"if {count} > 127: {count}, p = uvarint(buf, p - 1)")
            self._count_unknown_tags(count, known=len(layout.tagged))
            source.line(f"{unknown} = []")
            outer, self._lengths = self._lengths, []
            with source.block(f"for _ in range({count}):"):
                self._tag(layout, values, unknown)
            self._lengths = outer
            source.line(f"{unknown} = tuple({unknown})")

    def _count_unknown_tags(self, count: str, *, known: int) -> None:
        if self._counts_elements:
            with self.source.block(f"if {count} > {known}:"):
                self.source.line(f"left -= {OBJECT_WEIGHT} * ({count} - {known})")
                self.source.line(f"if left < 0 or {count} > {known + UNKNOWN_TAGS_MAX}: too_many(p)")

    def _tag(self, layout: StructLayout, values: dict[str, str], unknown: str) -> None:
        source = self.source
        tag, size, stop = source.name("tag"), source.name("size"), source.name("stop")
        source.line(f"{tag} = buf[p]; p += 1")
        source.line(f"if {tag} > 127: {tag}, p = uvarint(buf, p - 1)")
        source.line(f"{size} = buf[p]; p += 1")
        source.line(f"if {size} > 127: {size}, p = uvarint(buf, p - 1)")
        source.line(f"{stop} = p + {size}")
        keyword = "if"
        for field in layout.tagged:
            with source.block(f"{keyword} {tag} == {field.tag}:"):
                value = self._field(field)
                self._flush()
                source.line(f"{values[field.attribute]} = {value}")
                source.line(f"if p != {stop}: raise Malformed")
            keyword = "elif"
        source.line(f"else: {unknown}.append(({tag}, buf[p:{stop}])); p = {stop}")

    def _default(self, field: WireField) -> str:
        if field.default is not ...:
            return repr(field.default)
        if field.struct is None:
            return "()"
        return "[]" if field.is_array else f"{self.source.constant(field.struct.cls, 'C')}()"

    def _absent(self, absent: AbsentField) -> str:
        if absent.default is not ...:
            return repr(absent.default)
        if absent.struct is None:
            return "()"
        return "[]" if absent.is_array else f"{self.source.constant(absent.struct, 'C')}()"


def _array_table(character: str) -> tuple[Any, ...]:  # Any: same
    """Return the unpackers of arrays of 0, 1, 2 ... elements."""
    if character not in _TABLES:
        _TABLES[character] = tuple(struct.Struct(f">{n}{character}").unpack_from for n in range(_ARRAY_TABLE_SIZE))
    return _TABLES[character]
