r"""Java's `.properties` format, as `java.util.Properties` loads and stores it; every byte read is preserved.

A line is `key`, then `=`, `:` or blanks, then `value`. Lines end with \n, \r or \r\n; those that begin with `#` or `!`
are comments. A backslash at a line's end continues it (leading blanks of the rest are dropped); elsewhere it escapes:
\t \n \r \f \uXXXX, any other character stands for itself. Bytes are ISO 8859-1, as Kafka loads them.
"""

from dataclasses import dataclass, replace

from falkirk.storage.errors import CorruptFileError

_BUCKETS = 16
_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {
    "\t": "\\t",
    "\n": "\\n",
    "\r": "\\r",
    "\f": "\\f",
    "\\": "\\\\",
    "=": "\\=",
    ":": "\\:",
    "#": "\\#",
    "!": "\\!",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesLine:
    """One logical line with its raw bytes (line ends included). `key` is None for comments and blank lines."""

    raw: bytes
    key: str | None = None
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesFile:
    """All lines of a file in order; of a key that appears twice the last value counts."""

    lines: tuple[PropertiesLine, ...] = ()

    def as_dict(self) -> dict[str, str]:
        """Return the properties in the file's order."""
        return {line.key: line.value for line in self.lines if line.key is not None}

    def get(self, key: str) -> str | None:
        """Return the value of a key, None if it is missing."""
        return self.as_dict().get(key)

    def with_property(self, key: str, value: str) -> "PropertiesFile":
        """Set one value: replaces the last line of the key, or adds a line."""
        line = PropertiesLine(raw=format_property(key, value), key=key, value=value)
        for index in range(len(self.lines) - 1, -1, -1):
            if self.lines[index].key == key:
                return replace(self, lines=(*self.lines[:index], line, *self.lines[index + 1 :]))
        return replace(self, lines=(*_with_line_end(self.lines), line))

    def without_property(self, key: str) -> "PropertiesFile":
        """Remove every line of a key."""
        return replace(self, lines=tuple(line for line in self.lines if line.key != key))


def parse_properties(data: bytes, *, file: str = "properties", encoding: str = "latin-1") -> PropertiesFile:
    r"""Read a file, of another `encoding` where Kafka has a reader for it; a character of several bytes ends no line.

    Raises CorruptFileError for a malformed \uXXXX, the only thing that Java does not accept.
    """
    lines: list[PropertiesLine] = []
    at = 0
    while at < len(data):
        end, text = _logical_line(data, at, encoding)
        raw = data[at:end]
        if text is None:
            lines.append(PropertiesLine(raw=raw))
        else:
            key, value = _split_property(text)
            try:
                lines.append(PropertiesLine(raw=raw, key=_unescape(key), value=_unescape(value)))
            except ValueError as error:
                raise CorruptFileError(str(error), offset=at, file=file) from error
        at = end
    return PropertiesFile(lines=tuple(lines))


def format_properties(properties: PropertiesFile) -> bytes:
    """Write a file; unchanged lines stay byte for byte."""
    return b"".join(line.raw for line in properties.lines)


def format_property(key: str, value: str) -> bytes:
    """Write one line as `java.util.Properties` stores it."""
    escaped_key = "".join(_ESCAPED.get(char, char) for char in key).replace(" ", "\\ ")
    escaped_value = "".join(_ESCAPED.get(char, char) for char in value)
    blanks = len(escaped_value) - len(escaped_value.lstrip(" "))
    # Only the first blank needs an escape: the others are not leading ones.
    if blanks:
        escaped_value = "\\" + escaped_value
    return _encode(f"{escaped_key}={escaped_value}\n")


def java_properties_order(keys: list[str]) -> list[str]:
    """Order at most 11 keys as a `java.util.Properties` iterates them, which is how Kafka's tools write them.

    That is the order of 16 buckets in a hash table, and of insertion within a bucket; with 12 keys it would grow.
    """
    assert len(keys) < _BUCKETS * 3 // 4
    return sorted(keys, key=lambda key: _java_spread_hash(key) % _BUCKETS)


def _encode(text: str) -> bytes:
    # Characters beyond ISO 8859-1 are escaped, so that `load` finds them again. Differs from Kafka: its writer puts
    # UTF-8 into meta.properties and its reader takes that for ISO 8859-1.
    return b"".join(char.encode("latin-1") if ord(char) < 0x100 else b"".join(_utf16_escapes(char)) for char in text)


def _utf16_escapes(char: str) -> list[bytes]:
    units = char.encode("utf-16-be", "surrogatepass")
    return [f"\\u{units[at] << 8 | units[at + 1]:04X}".encode() for at in range(0, len(units), 2)]


def _with_line_end(lines: tuple[PropertiesLine, ...]) -> tuple[PropertiesLine, ...]:
    if not lines or lines[-1].raw.endswith((b"\n", b"\r")):
        return lines
    return (*lines[:-1], replace(lines[-1], raw=lines[-1].raw + b"\n"))


def _natural_line(data: bytes, at: int) -> tuple[int, int]:
    """Return (end of the text, start of the next line)."""
    for index in range(at, len(data)):
        if data[index] == 0x0A:
            return index, index + 1
        if data[index] == 0x0D:
            return index, index + 2 if data[index + 1 : index + 2] == b"\n" else index + 1
    return len(data), len(data)


def _logical_line(data: bytes, at: int, encoding: str) -> tuple[int, str | None]:
    """Return (start of the next logical line, text with continuations joined); text None for comments and blanks."""
    text_end, end = _natural_line(data, at)
    text = data[at:text_end].decode(encoding).lstrip(_BLANKS)
    if not text or text[0] in "#!":
        return end, None
    # A lone backslash continues nothing: the next line is one of its own. At the end it is an empty property.
    if text == "\\" and end < len(data):
        return end, None
    while _is_continued(text):
        text = text[:-1]
        if end >= len(data):
            break
        start = end
        text_end, end = _natural_line(data, start)
        text += data[start:text_end].decode(encoding).lstrip(_BLANKS)
    return end, text


def _is_continued(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _split_property(text: str) -> tuple[str, str]:
    at = 0
    while at < len(text) and text[at] not in "=:" + _BLANKS:
        at += 2 if text[at] == "\\" else 1
    key, rest = text[:at], text[at:].lstrip(_BLANKS)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANKS)
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            out.append(char)
            at += 1
            continue
        escape = text[at + 1 : at + 2]
        if escape == "u":
            out.append(_unicode_escape(text[at + 2 : at + 6]))
            at += 6
        else:
            out.append(_ESCAPES.get(escape, escape))
            at += 2
    # Two escapes of a surrogate pair are one character.
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _unicode_escape(digits: str) -> str:
    if len(digits) != 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise ValueError(f"malformed \\u escape {digits!r}, four hexadecimal digits were expected")
    return chr(int(digits, 16))


def _java_spread_hash(text: str) -> int:
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        value = (31 * value + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return (value ^ (value >> 16)) & 0x7FFFFFFF
