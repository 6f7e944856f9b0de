"""Names of certificates as Java's X500Principal writes them by RFC 2253: principals of ACLs are such texts.

Read from DER, for the form depends on more than a parser tells: on the type of each text, and on the parts' order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KEYWORDS: Final[Mapping[str, str]] = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
# String types and their encodings; values of other types are shown in hex.
_ENCODINGS: Final[Mapping[int, str]] = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1B: "ascii",
    0x1E: "utf-16-be",
}
_ESCAPED: Final = frozenset(',+<>#;"\\')


def x500_name(der: bytes) -> str:
    """Write a Name: `CN=alice,OU=clients,O=example`. Raises ValueError for bytes that are none."""
    try:
        ((_, sequence),) = _elements(der)
        parts = [_relative_name(part) for _, part in _elements(sequence)]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("not the DER of a name") from error
    return ",".join(reversed(parts))


def _elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and contents of each element."""
    position = 0
    while position < len(data):
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[position : position + count], "big")
            position += count
        if position + length > len(data):
            raise IndexError("an element that ends beyond its own end")
        yield tag, data[position : position + length]
        position += length


def _relative_name(data: bytes) -> str:
    return "+".join(_attribute(attribute) for _, attribute in _elements(data))


def _attribute(data: bytes) -> str:
    (_, type_bytes), (tag, value) = _elements(data)
    identifier = _object_identifier(type_bytes)
    keyword, encoding = _KEYWORDS.get(identifier), _ENCODINGS.get(tag)
    if keyword is None or encoding is None:
        encoded = bytes((tag,)) + _length(len(value)) + value
        return f"{keyword or identifier}=#{encoded.hex()}"
    return f"{keyword}={_escaped(value.decode(encoding))}"


def _object_identifier(data: bytes) -> str:
    numbers, number = [], 0
    for byte in data:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    # The first two arcs share a number: the first is 0 to 2, and only under 2 may the second exceed 39.
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _length(length: int) -> bytes:
    if length < 0x80:
        return bytes((length,))
    data = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((0x80 | len(data),)) + data


def _escaped(text: str) -> str:
    escaped = "".join("\\00" if one == "\0" else f"\\{one}" if one in _ESCAPED else one for one in text)
    body = escaped.strip(" \r")
    if not body:
        return "".join(f"\\{one}" for one in escaped)
    start = escaped.index(body)
    head, tail = escaped[:start], escaped[start + len(body) :]
    return "".join(f"\\{one}" for one in head) + body + "".join(f"\\{one}" for one in tail)
