"""Make `schemas/messages` from `schemas/facts`. Run once per set of Kafka releases.

The facts hold each release's schema of each message. This tool merges them into one definition per message over all
versions and releases, and checks each result: for every release and version it yields exactly the layout of the facts.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import version_facts
from schema_notation import (
    NO_VERSIONS,
    OPEN,
    Field,
    MessageDefinition,
    Versions,
    format_message,
    parse_file,
    parse_versions,
)

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "schemas" / "messages"
FACTS = version_facts.read_facts().schemas
# Oldest first.
RELEASES = tuple(FACTS)
# A struct that was renamed, its fields being the same: the newest name stands for all.
STRUCT_RENAMES = {"CreateableTopicConfig": "CreatableTopicConfig"}
# Records of releases before schemas named their type: the key's version is the type.
UNNAMED_KINDS = {
    "ShareGroupPartitionMetadataKey": ("coordinator-key", 9),
    "ShareGroupPartitionMetadataValue": ("coordinator-value", 9),
}
INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")

Json = dict[str, Any]


class ReleaseSchema:
    """One message in one release."""

    def __init__(self, facts: Json) -> None:
        self.facts = facts
        self.versions = parse_versions(facts["validVersions"])
        self.flexible = parse_versions(facts.get("flexibleVersions", "none"))
        self.structs: dict[str, list[Json]] = {}
        for common in facts.get("commonStructs", []):
            self._add_struct(common["name"], common["fields"])
        self._collect(facts["fields"])

    def _collect(self, fields: list[Json]) -> None:
        for each in fields:
            if each.get("fields"):
                self._add_struct(element_type(each["type"]), each["fields"])

    def _add_struct(self, name: str, fields: list[Json]) -> None:
        name = STRUCT_RENAMES.get(name, name)
        assert self.structs.setdefault(name, fields) == fields, (self.facts["name"], name)
        self._collect(fields)

    def fields_at(self, struct: str, version: int) -> list[Json]:
        """Return the struct's fields at one version, in wire order; "" is the message itself."""
        fields = self.structs[struct] if struct else self.facts["fields"]
        return [each for each in fields if version in field_versions(each)]


def field_versions(facts: Json) -> Versions:
    """Return a field's versions; one without `versions` exists only in its `taggedVersions`."""
    return parse_versions(facts.get("versions") or facts["taggedVersions"])


def tagged_versions(facts: Json) -> Versions:
    return parse_versions(facts.get("taggedVersions", "none"))


def given_default(facts: Json) -> Any:  # Any: a JSON value
    return parse_default(facts["default"], facts["type"]) if "default" in facts else implied_default(facts["type"])


def element_type(text: str) -> str:
    name = text.removeprefix("[]")
    return STRUCT_RENAMES.get(name, name)


def shape(schema: ReleaseSchema, struct: str, version: int) -> tuple[Any, ...]:
    """Return everything that determines the bytes and the JSON form: of defaults only those of tagged fields."""
    out = []
    for each in schema.fields_at(struct, version):
        element = element_type(each["type"])
        nested = element in schema.structs
        out.append(
            (
                each["name"],
                each["type"].startswith("[]"),
                None if nested else element,
                version in parse_versions(each.get("nullableVersions", "none")),
                (each["tag"], given_default(each)) if version in tagged_versions(each) else None,
                shape(schema, element, version) if nested else None,
            )
        )
    return tuple(out)


def all_versions(versions: Versions) -> list[int]:
    return [v for low, high in versions.ranges for v in range(low, high + 1)]


def layout_starts(schemas: dict[str, ReleaseSchema]) -> list[str]:
    """Return the releases at which some version's layout or naming changes; the first is the message's first."""
    starts = []
    seen: dict[int, Any] = {}
    for release, schema in schemas.items():
        changed = False
        for version in all_versions(schema.versions):
            now = shape(schema, "", version)
            changed |= seen.setdefault(version, now) != now
            seen[version] = now
        if changed or not starts:
            starts.append(release)
    return starts


class Merger:
    """Merges one message's release schemas into one definition."""

    def __init__(self, name: str, schemas: dict[str, ReleaseSchema], rules: dict[tuple[str, str], set[str]]) -> None:
        self.name = name
        self.schemas = schemas
        self.rules = rules
        self.starts = layout_starts(schemas)
        self.at: dict[tuple[str, int], ReleaseSchema] = {}
        for release, schema in schemas.items():
            layout = max(
                (start for start in self.starts if RELEASES.index(start) <= RELEASES.index(release)), key=RELEASES.index
            )
            for version in all_versions(schema.versions):
                self.at[layout, version] = schema
        self.versions = to_versions({v for _, v in self.at}, everything=None)
        self.every_version = {v for _, v in self.at}
        self.renames = self._find_renames()

    def definition(self) -> MessageDefinition:
        newest = list(self.schemas.values())[-1].facts
        flexible = {v for (_, v), schema in self.at.items() if v in schema.flexible}
        uses: dict[str, int] = defaultdict(int)
        for struct in self._struct_names():
            for each in self.merge_struct(struct):
                if each.is_struct:
                    uses[each.element_type] += 1
        shared = [name for name, count in uses.items() if count > 1]
        found_key = next((s.facts["apiKey"] for s in reversed(self.schemas.values()) if "apiKey" in s.facts), None)
        kind, key = UNNAMED_KINDS.get(self.name, (newest["type"], found_key))
        return MessageDefinition(
            kind=kind,
            name=self.name,
            key=key,
            versions=self.versions,
            flexible=to_versions(flexible, everything=self.every_version),
            layouts=tuple(self.starts) if len(self.starts) > 1 else (),
            fields=self._nest("", shared),
            structs={name: self._nest(name, shared) for name in shared},
        )

    def _struct_names(self) -> list[str]:
        return ["", *dict.fromkeys(name for schema in self.at.values() for name in schema.structs)]

    def _nest(self, struct: str, shared: list[str]) -> list[Field]:
        fields = self.merge_struct(struct)
        for each in fields:
            if each.is_struct and each.element_type not in shared:
                each.fields = self._nest(each.element_type, shared)
        return fields

    def _find_renames(self) -> dict[tuple[str, str, str], str]:
        """Return (layout, struct, old name) -> newest name, where only the names differ within one version."""
        renames: dict[tuple[str, str, str], str] = {}
        for (layout, version), schema in self.at.items():
            newest = self.at[max((at for at, v in self.at if v == version), key=RELEASES.index), version]
            for struct in ["", *schema.structs]:
                if struct not in newest.structs and struct:
                    continue
                ours, theirs = schema.fields_at(struct, version), newest.fields_at(struct, version)
                plain = [[(f["type"], f.get("nullableVersions"), f.get("tag")) for f in fs] for fs in (ours, theirs)]
                if plain[0] == plain[1]:
                    for old, new in zip(ours, theirs, strict=True):
                        if old["name"] != new["name"]:
                            renames[layout, struct, old["name"]] = new["name"]
        return renames

    def merge_struct(self, struct: str) -> list[Field]:
        """Merge one struct's fields over all layouts and versions, keeping wire order in each."""
        order: list[tuple[str, str]] = []
        found: dict[tuple[str, str], dict[tuple[str, int], Json]] = defaultdict(dict)
        lists = []
        for (layout, version), schema in sorted(self.at.items(), key=lambda i: (RELEASES.index(i[0][0]), i[0][1])):
            if struct and struct not in schema.structs:
                continue
            keys: list[tuple[str, str]] = []
            for facts in schema.fields_at(struct, version):
                name = self.renames.get((layout, struct, facts["name"]), facts["name"])
                keys.append((name, facts["type"].startswith("[]") * "[]" + element_type(facts["type"])))
                found[keys[-1]][layout, version] = facts
            lists.append(keys)
            at = 0
            for key in keys:
                if key in order:
                    at = order.index(key) + 1
                else:
                    while at < len(order) and order[at] not in keys:
                        at += 1
                    order.insert(at, key)
                    at += 1
        for keys in lists:
            assert [k for k in order if k in keys] == keys, (self.name, struct, keys, order)
        return [self._merge_field(struct, key, found[key]) for key in order]

    def _merge_field(self, struct: str, key: tuple[str, str], found: dict[tuple[str, int], Json]) -> Field:
        name, type_ = key
        newest = found[max(found, key=lambda k: (RELEASES.index(k[0]), k[1]))]
        versions = {v for _, v in found}
        here = {layout: {v for where, v in found if where == layout} for layout, _ in found}
        # A layout is named where the field is missing at a version that the layout has.
        lacking = {
            where
            for where, v in self.at
            if v in versions and (where, v) not in found and (not struct or struct in self.at[where, v].structs)
        }
        layouts = tuple(where for where in self.starts if where in here) if lacking else ()
        assert not lacking & set(here), (self.name, name, "partly present within a layout")
        each = Field(name, type_, to_versions(versions, everything=self.every_version), layouts=layouts)
        each.nullable = to_versions(
            {v for (_, v), f in found.items() if v in parse_versions(f.get("nullableVersions", "none"))},
            everything=self.every_version,
        )
        tagged = {v for (_, v), f in found.items() if v in tagged_versions(f)}
        if tagged:
            assert tagged == versions, (self.name, name, "tagged in some of its versions only")
            each.tag = newest["tag"]
        if "default" in newest:
            each.default, each.has_default = parse_default(newest["default"], type_), True
            each.has_default = each.default != implied_default(type_)
        if "flexibleVersions" in newest:
            each.flexible = parse_versions(newest["flexibleVersions"])
        outcomes = self.rules.get((struct, name), set()) | {
            o
            for (_, s, old), new in self.renames.items()
            if s == struct and new == name
            for o in self.rules.get((struct, old), ())
        }
        each.ignorable = outcomes == {"dropped"}
        each.old_names = {where: f["name"] for (where, _), f in found.items() if f["name"] != name}
        return each


def parse_default(value: Any, type_: str) -> Any:  # Any: a JSON value
    if value is None:  # a schema that says null, not "null", says nothing: the implied default stands
        return implied_default(type_)
    if value == "null":
        return None
    if type_ in INTEGERS:
        return int(str(value), 0)
    if type_ == "bool":
        return str(value).lower() == "true"
    if type_ == "float64":
        return float(value)
    return value


def implied_default(type_: str) -> Any:  # Any: a JSON value
    if type_ in INTEGERS:
        return 0
    return {"bool": False, "string": "", "float64": 0.0}.get(type_, ())


def to_versions(versions: set[int], everything: set[int] | None) -> Versions:
    """Return `versions` as ranges, open if they reach the last of `everything`, whose gaps do not count."""
    if not versions:
        return NO_VERSIONS
    space = sorted(everything or range(min(versions), max(versions) + 1))
    if everything is None and set(space) != versions:
        space = sorted(versions)
        return Versions(tuple(group(space)))
    ranges, start, previous = [], None, None
    for v in space:
        if v in versions and start is None:
            start = v
        if v not in versions and start is not None:
            ranges.append((start, previous))
            start = None
        previous = v
    if start is not None:
        ranges.append((start, OPEN if everything else previous))
    return Versions(tuple(ranges))


def group(numbers: list[int]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for n in numbers:
        if out and out[-1][1] == n - 1:
            out[-1] = (out[-1][0], n)
        else:
            out.append((n, n))
    return out


def load_rules(schemas: dict[str, dict[str, ReleaseSchema]]) -> dict[str, dict[tuple[str, str], set[str]]]:
    """Return message -> (struct, field) -> what Kafka does when the field is set in a version that lacks it.

    It drops what is ignorable, and a struct none of whose fields the version has: there it can only be its default.
    """
    out: dict[str, dict[tuple[str, str], set[str]]] = defaultdict(lambda: defaultdict(set))
    for name, per_release in schemas.items():
        for schema in per_release.values():
            for version in all_versions(schema.versions):
                for struct, each in fields_lacking(schema, "", version):
                    nested = [] if each["type"].startswith("[]") else schema.structs.get(element_type(each["type"]), [])
                    is_default = nested and not any(version in field_versions(inner) for inner in nested)
                    dropped = each.get("ignorable") or (is_default and each.get("default") != "null")
                    out[name][struct, each["name"]].add("dropped" if dropped else "refused")
    return out


def fields_lacking(schema: ReleaseSchema, struct: str, version: int) -> Iterator[tuple[str, Json]]:
    """Yield the fields that a version lacks, with the struct they are in, of structs that it has."""
    for each in schema.structs[struct] if struct else schema.facts["fields"]:
        inner = element_type(each["type"])
        if version not in field_versions(each):
            yield struct, each
        elif inner in schema.structs:
            yield from fields_lacking(schema, inner, version)


def verify(definition: MessageDefinition, schemas: dict[str, ReleaseSchema]) -> None:
    """Rebuild every version of every release from the definition, and compare."""
    for release, schema in schemas.items():
        starts = definition.layouts or (release,)
        layout = max((s for s in starts if RELEASES.index(s) <= RELEASES.index(release)), key=RELEASES.index)
        for version in all_versions(schema.versions):
            assert version in definition.versions, (definition.name, version)
            assert (version in definition.flexible) == (version in schema.flexible), (definition.name, release, version)
            ours = given_shape(definition, definition.fields, version, layout)
            theirs = shape(schema, "", version)
            assert ours == theirs, f"{definition.name} {release} v{version}\n{ours}\n{theirs}"


def given_shape(definition: MessageDefinition, fields: list[Field], version: int, layout: str) -> tuple[Any, ...]:
    out = []
    for each in fields:
        if version not in each.versions or (each.layouts and layout not in each.layouts):
            continue
        nested = each.fields or definition.structs.get(each.element_type)
        default = each.default if each.has_default else implied_default(each.type)
        out.append(
            (
                each.old_names.get(layout, each.name),
                each.is_array,
                None if nested else each.element_type,
                version in each.nullable,
                None if each.tag is None else (each.tag, default),
                given_shape(definition, nested, version, layout) if nested else None,
            )
        )
    return tuple(out)


# Which of our folders holds what comes from which of Kafka's modules.
FOLDERS = {
    "kafka-metadata": "metadata",
    "kafka-storage": "remote_log",
    "kafka-group-coordinator": "group_coordinator",
    "kafka-transaction-coordinator": "transaction_coordinator",
    "kafka-share-coordinator": "share_coordinator",
    "kafka-raft": "data",
}


def file_name(message: MessageDefinition, module: str) -> str:
    """Return the name of the file; requests and responses share one, keys and values too."""
    base = message.name
    folder = FOLDERS.get(module, "data")
    if message.kind in ("request", "response"):
        folder = "api"
    if message.kind in ("request", "response", "coordinator-key", "coordinator-value"):
        base = re.sub(r"(Request|Response|Key|Value)$", "", base)
    number = f"{message.key:02d}_" if message.key is not None else ""
    return f"{folder}/{number}{base}.schema"


def main() -> None:
    schemas: dict[str, dict[str, ReleaseSchema]] = defaultdict(dict)
    modules: dict[str, str] = {}
    for release, messages in FACTS.items():
        for path, facts in messages.items():
            schema = ReleaseSchema(facts)
            modules[facts["name"]] = path.split("/")[0]
            if schema.versions.ranges:
                schemas[facts["name"]][release] = schema
    rules = load_rules(schemas)
    files: dict[str, list[str]] = defaultdict(list)
    for name, per_release in sorted(
        schemas.items(), key=lambda item: (not item[0].endswith("Request"), not item[0].endswith("Key"), item[0])
    ):
        definition = Merger(name, per_release, rules.get(name, {})).definition()
        text = format_message(definition)
        [parsed] = parse_file(text, name)
        verify(parsed, per_release)
        files[file_name(definition, modules[name])].append(text)
    for path, texts in files.items():
        target = OUT / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("\n".join(texts))
    print(f"{len(schemas)} messages in {len(files)} files")


if __name__ == "__main__":
    main()
