"""Generate `src/falkirk/protocol/messages` from `schemas/messages`; with --check only report what is stale."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from schema_notation import Field, MessageDefinition, parse_file

ROOT = Path(__file__).resolve().parent.parent
SCHEMAS = ROOT / "schemas" / "messages"
OUT = ROOT / "src" / "falkirk" / "protocol" / "messages"
LAYOUTS = ROOT / "src" / "falkirk" / "versions" / "layouts.py"

PYTHON_TYPES = {
    "bool": "bool",
    "string": "str",
    "uuid": "bytes",
    "bytes": "bytes",
    "records": "bytes | memoryview",
    "float64": "float",
}
# Which folder's keys make which table of `messages/__init__.py`.
TABLES = {
    "metadata": "METADATA_RECORDS",
    "group_coordinator": "GROUP_COORDINATOR_RECORDS",
    "transaction_coordinator": "TRANSACTION_COORDINATOR_RECORDS",
    "share_coordinator": "SHARE_COORDINATOR_RECORDS",
    "remote_log": "REMOTE_LOG_RECORDS",
}


def snake(name: str) -> str:
    """`clientSoftwareName`, `isKRaftController`, `LastKnownElr` -> snake case."""
    name = name.replace("KRaft", "Kraft").replace("2Pc", "2pc")
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return name.lower()


def class_lines(name: str, fields: list[Field], message: MessageDefinition, base: str) -> list[str]:
    """Return one class: typed attributes, then its schema."""
    lines = [f"class {name}({base}, gc=False):"]
    if base == "WireMessage":
        lines += [f'    """{headline(message)}"""', ""]
    seen = set()
    for each in fields:
        attribute = snake(each.name)
        if attribute not in seen:
            seen.add(attribute)
            lines.append(f"    {attribute}: {annotation(each)} = {default(each)}")
    if message.flexible.ranges:
        lines.append("    unknown_tagged_fields: UnknownTaggedFields = ()")
    lines.append("")
    if base == "WireMessage":
        lines += [
            "    SCHEMA: ClassVar[MessageSchema] = MessageSchema(",
            f'        "{name}",',
            f'        "{message.kind}",',
        ]
    else:
        lines.append("    SCHEMA: ClassVar[StructSchema] = StructSchema(")
    lines += [f"        {field_line(each, message)}," for each in fields]
    if base == "WireMessage":
        lines += [f'        versions="{message.versions}",', f'        flexible="{message.flexible}",']
        if message.key is not None:
            lines.append(f"        key={message.key},")
        if message.layouts:
            lines.append(f"        layouts={len(message.layouts)},")
    lines += ["    )", "", ""]
    return lines


def headline(message: MessageDefinition) -> str:
    key = f" {message.key}" if message.key is not None else ""
    return f"{message.name}: {message.kind}{key}, versions {message.versions}, flexible {message.flexible}."


def annotation(each: Field) -> str:
    base = each.element_type if each.is_struct else PYTHON_TYPES.get(each.element_type, "int")
    if each.is_array:
        base = f"list[{base}]" if each.is_struct else f"tuple[{base}, ...]"
    nullable = each.nullable.ranges or each.type == "records" or (each.has_default and each.default is None)
    return f"{base} | None" if nullable else base


def default(each: Field) -> str:
    if each.has_default:
        return python_default(each)
    if each.is_array:
        return "[]" if each.is_struct else "()"
    if each.is_struct:
        return f"msgspec.field(default_factory={each.element_type})"
    implied = {
        "bool": "False",
        "string": '""',
        "uuid": "ZERO_UUID",
        "bytes": 'b""',
        "records": "None",
        "float64": "0.0",
    }
    return implied.get(each.type, "0")


def python_default(each: Field) -> str:
    return '"' + each.default + '"' if isinstance(each.default, str) else repr(each.default)


def field_line(each: Field, message: MessageDefinition) -> str:
    type_ = each.element_type if each.is_struct else f'"{each.element_type}"'
    parts = [f'"{each.name}"', f'"{snake(each.name)}"', type_, f'"{each.versions}"']
    if each.is_array:
        parts.append("array=True")
    if each.nullable.ranges:
        parts.append(f'nullable="{each.nullable}"')
    if each.tag is not None:
        parts.append(f"tag={each.tag}")
    if each.has_default:
        parts.append(f"default={python_default(each)}")
    if each.ignorable:
        parts.append("ignorable=True")
    if each.flexible is not None:
        parts.append(f'flexible="{each.flexible}"')
    if each.layouts:
        parts.append(f"layouts={tuple(message.layouts.index(layout) for layout in each.layouts)!r}")
    if each.old_names:
        names = {message.layouts.index(layout): name for layout, name in each.old_names.items()}
        parts.append("old_names={" + ", ".join(f'{k}: "{v}"' for k, v in names.items()) + "}")
    return f"Field({', '.join(parts)})"


def nested_classes(message: MessageDefinition) -> dict[str, list[Field]]:
    """Return the structs of the message, inner ones first."""
    out: dict[str, list[Field]] = {}

    def visit(fields: list[Field]) -> None:
        for each in fields:
            if each.is_struct and each.element_type not in out:
                inner = each.fields or message.structs[each.element_type]
                visit(inner)
                out[each.element_type] = inner

    visit(message.fields)
    return out


def module_text(message: MessageDefinition, source: str) -> str:
    nested = nested_classes(message)
    assert message.name not in nested, message.name
    body: list[str] = []
    for name, fields in nested.items():
        body += class_lines(name, fields, message, "WireStruct")
    body += class_lines(message.name, message.fields, message, "WireMessage")
    text = "\n".join(body).rstrip() + "\n"
    names = ["Field", "MessageSchema", "StructSchema", "UnknownTaggedFields", "WireMessage", "WireStruct", "ZERO_UUID"]
    used = [name for name in names if re.search(rf"\b{name}\b", text)]
    head = [f'"""Generated from schemas/messages/{source} by tools/generate_messages.py: do not edit."""', ""]
    head += ["from __future__ import annotations", "", "from typing import ClassVar", ""]
    if "msgspec." in text:
        head += ["import msgspec", ""]
    head += [f"from falkirk.protocol.schema import {', '.join(used)}", "", ""]
    return "\n".join(head) + text


def init_text(found: list[tuple[str, MessageDefinition]]) -> str:
    """Return the registry: which class is in which module, without importing any."""
    messages = sorted((message for _, message in found), key=lambda message: message.name)
    lines = [
        '"""Every message of Kafka 3.7 to 4.4, loaded on first use; generated by tools/generate_messages.py."""',
        "",
    ]
    lines += [
        "from __future__ import annotations",
        "",
        "from importlib import import_module",
        "from typing import TYPE_CHECKING, cast",
        "",
    ]
    lines += ["if TYPE_CHECKING:", "    from falkirk.protocol.schema import WireMessage"]
    lines += [f"    from falkirk.protocol.messages.{snake(m.name)} import {m.name} as {m.name}" for m in messages]
    lines += ["", "MODULES: dict[str, str] = {", *[f'    "{m.name}": "{snake(m.name)}",' for m in messages], "}", ""]
    for title, kind in (("REQUESTS", "request"), ("RESPONSES", "response")):
        keyed = {m.key: m.name for _, m in found if m.kind == kind}
        lines += table(title, f"Api key -> {kind}.", keyed)
    for folder, title in TABLES.items():
        records = {m.key: m.name for f, m in found if f == folder and m.kind == "metadata"}
        if records:
            lines += table(title, "Record type -> record.", records)
            continue
        for end in ("key", "value"):
            keyed = {m.key: m.name for f, m in found if f == folder and m.kind == f"coordinator-{end}"}
            lines += table(title.replace("RECORDS", f"{end.upper()}S"), f"Record type -> {end}.", keyed)
    lines += [
        "",
        "def message_class(name: str) -> type[WireMessage]:",
        '    """Return the class of a message by its schema name. Raises KeyError."""',
        '    return cast("type[WireMessage]", getattr(import_module(f"{__name__}.{MODULES[name]}"), name))',
        "",
        "",
        "def __getattr__(name: str) -> type[WireMessage]:",
        "    if name in MODULES:",
        "        found = message_class(name)",
        "        globals()[name] = found",
        "        return found",
        '    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")',
    ]
    return "\n".join(lines) + "\n"


def table(title: str, comment: str, keyed: dict[int | None, str]) -> list[str]:
    rows = [f'    {key}: "{name}",' for key, name in sorted(keyed.items(), key=lambda item: item[0] or 0)]
    return [f"# {comment}", f"{title}: dict[int, str] = {{", *rows, "}"]


def layouts_text(found: list[tuple[str, MessageDefinition]]) -> str:
    """Return versions/layouts.py: the first release of each layout, for messages that have more than one."""
    lines = [
        '"""Messages whose layout changed without a version bump; generated by tools/generate_messages.py."""',
        "",
    ]
    lines += [
        "from typing import Final",
        "",
        "# message -> the release from which each of its layouts is used, in layout order",
    ]
    lines += ["LAYOUT_STARTS: Final[dict[str, tuple[str, ...]]] = {"]
    for _, m in sorted(found, key=lambda item: item[1].name):
        if m.layouts:
            lines.append(f'    "{m.name}": ({", ".join(repr(layout) for layout in m.layouts)},),')
    return "\n".join([*lines, "}"]) + "\n"


def generate() -> dict[Path, str]:
    found: list[tuple[str, MessageDefinition]] = []
    files: dict[Path, str] = {}
    for path in sorted(SCHEMAS.glob("*/*.schema")):
        source = path.relative_to(SCHEMAS).as_posix()
        for message in parse_file(path.read_text(), source):
            found.append((path.parent.name, message))
            files[OUT / f"{snake(message.name)}.py"] = module_text(message, source)
    files[OUT / "__init__.py"] = init_text(found)
    files[LAYOUTS] = layouts_text(found)
    return formatted(files)


def formatted(files: dict[Path, str]) -> dict[Path, str]:
    """Sort imports and format, all at once in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        aside = {Path(folder) / path.relative_to(ROOT): (path, text) for path, text in files.items()}
        for copy, (_, text) in aside.items():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
        ruff = [sys.executable, "-m", "ruff"]
        config = ["--quiet", "--no-cache", "--config", str(ROOT / "pyproject.toml"), folder]
        subprocess.run([*ruff, "check", "--select", "I", "--fix", *config], check=True)
        subprocess.run([*ruff, "format", *config], check=True)
        return {path: copy.read_text() for copy, (path, _) in aside.items()}


def main() -> int:
    files = generate()
    present = set(OUT.glob("*.py"))
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    stale += sorted(present - set(files))
    if "--check" in sys.argv:
        print("\n".join(f"stale: {path.relative_to(ROOT)}" for path in stale))
        return bool(stale)
    for path in stale:
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
        else:
            path.unlink()
    print(f"{len(files)} files, {len(stale)} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
