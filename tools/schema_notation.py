"""Our notation for message schemas: one text file per API or record, read by `generate_messages.py`.

A message starts at the left margin, its fields are indented by two blanks, those of a nested struct by two more:

    request UpdateFeaturesRequest key 57 versions 0-2 flexible 0+
      timeoutMs int32 0+ = 60000
      FeatureUpdates []FeatureUpdateKey 0+
        Feature string 0+ mapkey
        AllowDowngrade bool 0 ignorable

A field is `Name type versions`, then in this order and each only where it applies:
  ?V          nullable in versions V
  tag N       written as tagged field N
  = D         default D, as JSON; without it 0, false, "", empty or a struct of defaults
  flexible V  overrides the message's flexible versions for this field
  ignorable   dropped in silence where a version lacks it; without it, setting it there is an error
  in L,...    stands only in these layouts
  was N in L  is called N in these layouts
Versions are `3`, `3+`, `0-2` or several of those joined by commas; `3+` means up to the message's last.
`layouts 3.7.2 4.3.1` in a message's head: the same version is laid out in more than one way; each layout is called
after the first release that has it. A struct that stands in more than one place is defined once, after the fields,
by a line `struct Name`.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

KINDS = ("request", "response", "header", "metadata", "coordinator-key", "coordinator-value", "data")


@dataclass(frozen=True)
class Versions:
    """A set of versions as inclusive ranges; an open end is OPEN."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, version: int) -> bool:
        return any(low <= version <= high for low, high in self.ranges)

    def __str__(self) -> str:
        return ",".join(_range_text(low, high) for low, high in self.ranges) or "none"


OPEN = 32767
NO_VERSIONS = Versions(())


@dataclass
class Field:
    """One field line. `fields` is set where the struct is defined in place."""

    name: str
    type: str
    versions: Versions
    nullable: Versions = NO_VERSIONS
    tag: int | None = None
    default: Any = None
    has_default: bool = False
    flexible: Versions | None = None
    ignorable: bool = False
    layouts: tuple[str, ...] = ()
    old_names: dict[str, str] = field(default_factory=dict)
    fields: list["Field"] = field(default_factory=list)

    @property
    def is_array(self) -> bool:
        return self.type.startswith("[]")

    @property
    def element_type(self) -> str:
        return self.type.removeprefix("[]")

    @property
    def is_struct(self) -> bool:
        return self.element_type[0].isupper()


@dataclass
class MessageDefinition:
    """One message: its head, its fields, and the structs that stand in more than one place."""

    kind: str
    name: str
    key: int | None
    versions: Versions
    flexible: Versions
    layouts: tuple[str, ...]
    fields: list[Field]
    structs: dict[str, list[Field]] = field(default_factory=dict)


def parse_versions(text: str) -> Versions:
    """Read `3`, `3+`, `0-2`, `0,8` or `none`."""
    if text == "none":
        return NO_VERSIONS
    ranges = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", part)
        if not match:
            raise ValueError(f"not a version range: {text!r}")
        low = int(match[1])
        ranges.append((low, OPEN if match[2] else int(match[3] or low)))
    return Versions(tuple(ranges))


def _range_text(low: int, high: int) -> str:
    if high == OPEN:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def format_message(message: MessageDefinition) -> str:
    """Write one message in the notation."""
    head = [message.kind, message.name]
    if message.key is not None:
        head += ["key", str(message.key)]
    head += ["versions", str(message.versions), "flexible", str(message.flexible)]
    if message.layouts:
        head += ["layouts", *message.layouts]
    lines = [" ".join(head)]
    lines += _format_fields(message.fields, depth=1)
    for name, fields in message.structs.items():
        lines += [f"struct {name}", *_format_fields(fields, depth=1)]
    return "\n".join(lines) + "\n"


def _format_fields(fields: list[Field], depth: int) -> list[str]:
    lines = []
    for each in fields:
        words = [each.name, each.type, str(each.versions)]
        if each.nullable.ranges:
            words.append(f"?{each.nullable}")
        if each.tag is not None:
            words += ["tag", str(each.tag)]
        if each.has_default:
            words += ["=", json.dumps(each.default)]
        if each.flexible is not None:
            words += ["flexible", str(each.flexible)]
        if each.ignorable:
            words.append("ignorable")
        if each.layouts:
            words += ["in", ",".join(each.layouts)]
        for name in dict.fromkeys(each.old_names.values()):
            layouts = ",".join(layout for layout, old in each.old_names.items() if old == name)
            words += ["was", name, "in", layouts]
        lines.append("  " * depth + " ".join(words))
        lines += _format_fields(each.fields, depth + 1)
    return lines


def parse_file(text: str, source: str) -> list[MessageDefinition]:
    """Read all messages of one file. Raises ValueError naming file and line."""
    messages: list[MessageDefinition] = []
    stack: list[list[Field]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        depth = (len(line) - len(line.lstrip(" "))) // 2
        words = line.split()
        try:
            if depth == 0 and words[0] == "struct":
                fields: list[Field] = []
                messages[-1].structs[words[1]] = fields
                stack = [fields]
            elif depth == 0:
                message = _parse_head(words)
                messages.append(message)
                stack = [message.fields]
            else:
                del stack[depth:]
                each = _parse_field(words)
                stack[depth - 1].append(each)
                stack.append(each.fields)
        except (ValueError, IndexError, KeyError) as error:
            raise ValueError(f"{source}:{number}: {error}: {line.strip()}") from error
    return messages


def _parse_head(words: list[str]) -> MessageDefinition:
    kind, name, *rest = words
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}")
    key = int(rest[1]) if rest[0] == "key" else None
    rest = rest[2:] if key is not None else rest
    if rest[0] != "versions" or rest[2] != "flexible":
        raise ValueError("expected `versions V flexible V`")
    layouts = tuple(rest[5:]) if rest[4:5] == ["layouts"] else ()
    return MessageDefinition(kind, name, key, parse_versions(rest[1]), parse_versions(rest[3]), layouts, [])


def _parse_field(words: list[str]) -> Field:
    each = Field(words[0], words[1], parse_versions(words[2]))
    rest = words[3:]
    while rest:
        word = rest.pop(0)
        if word.startswith("?"):
            each.nullable = parse_versions(word[1:])
        elif word == "tag":
            each.tag = int(rest.pop(0))
        elif word == "=":
            each.default, each.has_default = json.loads(rest.pop(0)), True
        elif word == "flexible":
            each.flexible = parse_versions(rest.pop(0))
        elif word == "ignorable":
            each.ignorable = True
        elif word == "in":
            each.layouts = tuple(rest.pop(0).split(","))
        elif word == "was":
            name, _, layouts = rest.pop(0), rest.pop(0), rest.pop(0)
            each.old_names |= dict.fromkeys(layouts.split(","), name)
        else:
            raise ValueError(f"unknown word {word!r}")
    return each
