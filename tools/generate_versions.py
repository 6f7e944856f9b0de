"""Write the release tables in `src/falkirk/versions/` from `schemas/facts`, or compare every fact with them.

usage: generate_versions.py [--check]

The Python literals that it writes are the notation itself (falkirk.versions.notation): small, and sorted by release.
"""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import version_changes
import version_facts
from falkirk.versions import notation

VERSIONS = Path(__file__).parents[1] / "src" / "falkirk" / "versions"
# These stand first and without their name: what a reader would say first.
POSITIONAL = {
    notation.Api: 3,
    notation.Level: 2,
    notation.Feature: 2,
    notation.MetadataVersionRow: 2,
    notation.Record: 3,
    notation.ControlRecord: 3,
}


def main(arguments: list[str]) -> None:
    """Do what the usage says."""
    if arguments not in ([], ["--check"]):
        raise SystemExit(__doc__)
    facts = version_facts.read_facts()
    if arguments:
        # Imported late: the check needs whole tables, and writing them is how broken ones are mended.
        import version_check  # noqa: PLC0415

        raise SystemExit(version_check.check(facts))
    _write(facts)


def _write(facts: version_facts.VersionFacts) -> None:
    written = [_write_rows(version_changes.metadata_version_rows(facts))]
    releases = []
    for changes in version_changes.release_changes(facts):
        releases.append(f"kafka_{changes.release.replace('.', '_')}")
        path = VERSIONS / "releases" / f"{releases[-1]}.py"
        what = f"changed since {changes.since}" if changes.since else "is, as the oldest release in the tables"
        _write_module(path, f"What Kafka {changes.release} {what}.", f"CHANGES = {_literal(changes)}\n")
        written.append(path)
    path = VERSIONS / "releases" / "__init__.py"
    imports = "\n".join(f"from falkirk.versions.releases import {release}" for release in releases)
    listing = ", ".join(f"{release}.CHANGES" for release in releases)
    path.write_text(
        '"""What each release changed, one module per release, oldest first."""\n\nfrom typing import Final\n\n'
        f"{imports}\nfrom falkirk.versions.notation import ReleaseChanges\n\n"
        f"RELEASE_CHANGES: Final[tuple[ReleaseChanges, ...]] = ({listing},)\n"
    )
    written.append(path)
    ruff = Path(sys.executable).with_name("ruff")
    subprocess.run([ruff, "check", "--quiet", "--fix", "--select", "I", *written], check=True)
    subprocess.run([ruff, "format", "--quiet", *written], check=True)


def _write_rows(rows: Iterable[notation.MetadataVersionRow]) -> Path:
    path = VERSIONS / "metadata_version_rows.py"
    literals = "".join(f"    {_literal(row)},\n" for row in rows)
    _write_module(
        path,
        "Every metadata.version, lowest first, by what it changed since the one below it.",
        f"METADATA_VERSION_ROWS: Final = (\n{literals})\n",
    )
    return path


def _write_module(path: Path, docstring: str, body: str) -> None:
    names = [name for name in set(re.findall(r"\b([A-Z]\w+)\(", body)) if hasattr(notation, name)]
    final = "from typing import Final\n\n" if "Final" in body else ""
    imports = f"from falkirk.versions.notation import {', '.join(sorted(names))}"
    path.write_text(f'"""{docstring}"""\n\n{final}{imports}\n\n{body}')


def _literal(value: Any) -> str:  # anything that the notation is made of
    """Return a value as Python source, leaving out the notation's defaults."""
    if isinstance(value, tuple):
        return f"({', '.join(_literal(entry) for entry in value)},)"
    if not dataclasses.is_dataclass(value):
        return repr(value)
    parts = []
    named = False
    for position, field in enumerate(dataclasses.fields(value)):
        part = getattr(value, field.name)
        default = field.default_factory() if callable(field.default_factory) else field.default
        if part == default:
            named = True
            continue
        named = named or position >= POSITIONAL.get(type(value), 0)
        parts.append(f"{field.name}={_literal(part)}" if named else _literal(part))
    return f"{type(value).__name__}({', '.join(parts)})"


if __name__ == "__main__":
    main(sys.argv[1:])
