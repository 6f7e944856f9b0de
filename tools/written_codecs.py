"""Write codecs out as one module for the compiled build: what `protocol.codec` makes at run time, with types.

`module_text` is what stands in the place of `protocol/codec/written_codecs.py` there; `compiled_codecs.txt` says of
which messages and versions. A codec whose arrays have shapes gets its constants from the run-time compiler.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from falkirk.protocol.codec import decoder_compiler, encoder_compiler
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.shapes import DecodeShapes, EncodeShapes
from falkirk.protocol.codec.source import Source
from falkirk.protocol.messages import message_class
from falkirk.protocol.schema import WireMessage

WANTED = Path(__file__).parent / "compiled_codecs.txt"
HEAD = '''"""The codecs of frequent messages, written out by tools/written_codecs.py."""

import struct
from typing import Any, Final, cast

from falkirk.protocol.codec import decoder_compiler as decoding
from falkirk.protocol.codec import encoder_compiler as encoding
from falkirk.protocol.codec.decoder_compiler import MalformedError as Malformed
from falkirk.protocol.codec.encoder_compiler import encode_tags, join_small
from falkirk.protocol.varint import decode_unsigned_varint, encode_unsigned_varint

pack: Final[Any] = struct.pack
unpack_from: Final[Any] = struct.unpack_from
UV: Final[tuple[bytes, ...]] = tuple([bytes([n]) for n in range(128)])
short: Final[Any] = struct.Struct(">h").pack
int32: Final[Any] = struct.Struct(">i").pack
read_string_length: Final[Any] = decoding._string_length
write_string_length: Final[Any] = encoding._string_length
not_null: Final[Any] = decoding._not_null
unknown_tags: Final[Any] = decoding._unknown_tags
too_many: Final[Any] = decoding._too_many
'''
# What the generated code calls otherwise, by direction.
READING = {"uvarint": "decode_unsigned_varint", "string_length": "read_string_length"}
WRITING = {"uvarint": "encode_unsigned_varint", "string_length": "write_string_length"}
INTEGERS = re.compile(r"(n|e|k|tag|size|stop|inner)\d*")
LISTS = re.compile(r"out\d*|joined")


def wanted() -> Iterator[tuple[type[WireMessage], int]]:
    """Yield the messages and versions of `compiled_codecs.txt`."""
    for line in WANTED.read_text().splitlines():
        if line and not line.startswith("#"):
            name, versions = line.split()
            first, _, last = versions.partition("-")
            for version in range(int(first), int(last or first) + 1):
                yield message_class(name), version


def module_text() -> str:
    """Return the module."""
    parts, tables = [HEAD], {"DECODERS": "", "ENCODERS": ""}
    for number, (cls, version) in enumerate(wanted()):
        reads = cls.SCHEMA.info.kind == "request"
        kind = "decoder" if reads else "encoder"
        source = source_of(kind, cls, version)
        name = f"{'decode' if reads else 'encode'}_{number}"
        parts += [_constants(source, kind, cls, version, number), _function(source, name, number, reads=reads)]
        tables["DECODERS" if reads else "ENCODERS"] += f"    ({cls.__name__!r}, {version}): {name},\n"
    parts += [f"{name}: Final[dict[tuple[str, int], Any]] = {{\n{rows}}}\n" for name, rows in tables.items()]
    return "\n\n".join(parts)


def source_of(kind: str, cls: type[WireMessage], version: int) -> Source:
    """Return the body and the constants of what is compiled at run time."""
    layout = message_layout(cls, version, None)
    if kind == "decoder":
        return decoder_compiler.decoder_source(layout, counts_elements=True)
    return encoder_compiler.encoder_source(layout)


def _constants(source: Source, kind: str, cls: type[WireMessage], version: int, number: int) -> str:
    lines = []
    if any(isinstance(value, DecodeShapes | EncodeShapes) for value in source.constants.values()):
        counted = ", counts_elements=True" if kind == "decoder" else ""
        module = "decoding" if kind == "decoder" else "encoding"
        lines.append("from falkirk.protocol.codec.layout import message_layout")
        lines.append(f"from {cls.__module__} import {cls.__name__}")
        layout = f"message_layout({cls.__name__}, {version}, None)"
        lines.append(f"_constants_{number} = {module}.{kind}_source({layout}{counted}).constants")
    for name, value in source.constants.items():
        lines.append(_constant(f"c{number}_{name}", name, value, number))
    return "\n".join(lines)


def _constant(own: str, name: str, value: Any, number: int) -> str:  # Any: what generated code refers to
    if isinstance(value, type) and value is not memoryview:
        return f"from {value.__module__} import {value.__name__} as {own}"
    if value is memoryview:
        expression = "memoryview"
    elif isinstance(packed := getattr(value, "__self__", None), decoder_compiler.struct.Struct):
        expression = f"struct.Struct({packed.format!r}).{value.__name__}"
    elif isinstance(value, DecodeShapes | EncodeShapes):
        expression = f"_constants_{number}[{name!r}]"
    else:
        assert name.startswith("A"), f"a constant of an unknown kind: {name}"
        expression = f"decoding._array_table({name[1:].partition('_')[0].replace('t', '?')!r})"
    return f"{own}: Final[Any] = {expression}"


class _Typed(ast.NodeTransformer):
    """Names constants and functions as the module does, and says what unpacking gives."""

    def __init__(self, number: int, constants: set[str], functions: dict[str, str]) -> None:
        self._names = {each: f"c{number}_{each}" for each in constants} | functions
        self.locals: set[str] = set()

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Store):
            self.locals.add(node.id)
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        moves = self._moves(node)
        (target,) = node.targets
        if isinstance(target, ast.Tuple):
            types = ["int" if _is_integer(ast.unparse(each)) else "Any" for each in target.elts]
            node.value = ast.parse(f"cast(tuple[{', '.join(types)}], {ast.unparse(node.value)})", mode="eval").body
        return [*moves, node]

    def _moves(self, node: ast.Assign) -> list[ast.stmt]:
        """Take the move out of `buf[p:(p := end)]`: mypyc reads the first `p` after it."""
        for each in ast.walk(node.value):
            if isinstance(each, ast.Slice) and isinstance(each.upper, ast.NamedExpr):
                self.locals.add("start")
                end = ast.unparse(each.upper.value)
                each.lower, each.upper = ast.Name("start", ast.Load()), ast.Name("p", ast.Load())
                return ast.parse(f"start = p\np = {end}").body
        return []


def _is_integer(name: str) -> bool:
    return name == "p" or INTEGERS.fullmatch(name) is not None


def _function(source: Source, name: str, number: int, *, reads: bool) -> str:
    head = f"def {name}(buf: bytes, p: int, left: int) -> Any:" if reads else f"def {name}(m: Any) -> Any:"
    first = ["end = len(buf); k = 0"] if reads else ["out = []; joined = []"]
    tree = ast.parse("\n".join([head, *(f"    {each}" for each in first), *source.lines]))
    typed = _Typed(number, set(source.constants), READING if reads else WRITING)
    body = ast.unparse(typed.visit(tree)).splitlines()
    types = [f"    {each}: {_type(each)}" for each in sorted(typed.locals - {"p", "left", "_", "i"})]
    return "\n".join([body[0], *types, *body[1:]])


def _type(name: str) -> str:
    if name in {"end", "start"} or _is_integer(name):
        return "int"
    return "list[Any]" if LISTS.fullmatch(name) else "Any"
