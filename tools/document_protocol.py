"""Write docs/reference/protocol/ from the schemas and the release tables; `--check` only reports whether it is fresh.

One page per API: the versions of each release, those deprecated (KIP-35, KIP-896), and the fields.
"""

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from falkirk.node.handlers.api_versions import ADVERTISED_LOWEST
from falkirk.protocol.messages import REQUESTS, RESPONSES, message_class
from falkirk.protocol.schema import Field, StructSchema, WireMessage
from falkirk.versions.api_support import ApiSupport, Listener
from falkirk.versions.release import Release, all_releases
from falkirk.versions.supported_range import SupportedRange
from falkirk.versions.unbuilt import UNBUILT

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference" / "protocol"
MADE = "Made by `tools/document_protocol.py` (`make docs`) from the schemas and the release tables."
# The columns of the overview: releases that a node can run as.
PROFILES = tuple(release for release in all_releases() if release.tables.kraft is not None)
NAMES_OF_LISTENERS = {
    Listener.ZK_BROKER: "broker on ZooKeeper",
    Listener.BROKER: "broker",
    Listener.CONTROLLER: "controller",
}


def main() -> int:
    pages = documents()
    if "--check" in sys.argv:
        found = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
        print(f"{FOLDER.name}: {'fresh' if found == pages else 'stale: run tools/document_protocol.py'}")
        return 0 if found == pages else 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text)
    return 0


def documents() -> dict[str, str]:
    """Return all pages by file name."""
    keys = sorted({key for release in all_releases() for key in release.apis} & REQUESTS.keys())
    return {"README.md": overview(keys)} | {page_name(key): page(key) for key in keys}


def page_name(key: int) -> str:
    return f"{key:02d}-{api_name(key)}.md"


def api_name(key: int) -> str:
    return REQUESTS[key].removesuffix("Request")


# --- Overview


def overview(keys: list[int]) -> str:
    releases = [release.word for release in PROFILES]
    rows = [
        f"| {key} | [{api_name(key)}]({page_name(key)}) | "
        + " | ".join(cell(release, key) for release in PROFILES)
        + " |"
        for key in keys
    ]
    return "\n".join(
        [
            "# Protocol",
            "",
            MADE,
            "",
            "The versions of each API by release; `~` marks deprecated ones, which are served all the same.",
            "`!` marks versions that ApiVersions reports and that must not be used: the node closes the connection.",
            "A client should use the highest version that it and the node have, and none that is deprecated.",
            "Versions in brackets are served only with `unstable.api.versions.enable`.",
            "",
            "| key | API | " + " | ".join(releases) + " |",
            "|---|---|" + "---|" * len(releases),
            *rows,
            "",
        ]
    )


def cell(release: Release, key: int) -> str:
    api = release.apis.get(key)
    if api is None or api.versions is None:
        return ""
    stable = f"{api.stable_versions}" if api.stable_versions else ""
    unstable = f" [{api.versions}]" if api.versions != api.stable_versions else ""
    deprecated = f" ~{api.deprecated_versions}" if api.deprecated_versions else ""
    unusable = unusable_versions(api)
    return (stable + unstable + deprecated + (f" !{unusable}" if unusable else "")).strip()


def unusable_versions(api: ApiSupport) -> SupportedRange | None:
    """Return the versions that ApiVersions reports and that are not served."""
    lowest = ADVERTISED_LOWEST.get(api.key)
    if lowest is None or api.versions is None or lowest >= api.versions.lowest:
        return None
    return SupportedRange(lowest, api.versions.lowest - 1)


# --- One API


def page(key: int) -> str:
    request, response = message_class(REQUESTS[key]), message_class(RESPONSES[key])
    info = request.SCHEMA.info
    lines = [f"# {api_name(key)} (key {key})", "", MADE, "", f"Versions {info.versions}, flexible {info.flexible}."]
    lines += ["", "| releases | versions | deprecated | served by |", "|---|---|---|---|", *release_rows(key), ""]
    for listener, unbuilt in UNBUILT:
        if unbuilt == key:
            reason = UNBUILT[listener, key]
            lines += [f"On a {NAMES_OF_LISTENERS[listener]}'s listener falkirk does not offer it: {reason}.", ""]
    lines += ["## Request", "", *field_table(request), "", "## Response", "", *field_table(response), ""]
    return "\n".join(lines)


def release_rows(key: int) -> Iterator[str]:
    """Yield a row for each run of releases that agree."""
    rows = [(release.word, row_of(release.apis[key])) for release in all_releases() if key in release.apis]
    for text, run in groupby(rows, key=lambda row: row[1]):
        words = [word for word, _ in run]
        yield f"| {words[0] if len(words) == 1 else f'{words[0]} to {words[-1]}'} | {text} |"


def row_of(api: ApiSupport) -> str:
    listeners = ", ".join(NAMES_OF_LISTENERS[listener] for listener in Listener if listener in api.listeners)
    versions = "none" if api.versions is None else str(api.versions)
    if api.versions is not None and api.stable_versions != api.versions:
        versions += f" (stable: {api.stable_versions or 'none'})"
    if unusable := unusable_versions(api):
        versions += f", in ApiVersions {unusable.lowest}-{api.versions.highest}: {unusable} must not be used"
    forwarded = ", passed on to the controller" if api.forwardable else ""
    return f"{versions} | {api.deprecated_versions or ''} | {listeners}{forwarded}"


def field_table(cls: type[WireMessage]) -> list[str]:
    rows = list(field_rows(cls.SCHEMA, ""))
    if not rows:
        return ["No fields."]
    return ["| field | type | versions | |", "|---|---|---|---|", *rows]


def field_rows(schema: StructSchema, path: str) -> Iterator[str]:
    for field in schema.fields:
        here = f"{path}{field.name}"
        yield f"| {here} | {type_text(field)} | {field.versions} | {notes(field)} |"
        if not isinstance(field.type, str):
            yield from field_rows(field.type.SCHEMA, f"{here}/")


def type_text(field: Field) -> str:
    name = field.type if isinstance(field.type, str) else "struct"
    return f"array of {name}" if field.is_array else name


def notes(field: Field) -> str:
    found = []
    if field.tag is not None:
        found.append(f"tag {field.tag}")
    if field.nullable.ranges:
        found.append(f"null allowed {field.nullable}")
    if field.has_default:
        found.append(f"default {default_text(field.default)}")
    if field.layouts is not None:
        found.append(f"only in layout {', '.join(map(str, field.layouts))}")
    return ", ".join(found)


def default_text(default: object) -> str:
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    return str(default)


if __name__ == "__main__":
    sys.exit(main())
