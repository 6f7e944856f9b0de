"""Write docs/reference/feature-levels.md from the release tables; with `--check` only report whether it is fresh."""

import sys
from pathlib import Path

from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.release import Release, all_releases
from reference_page import write_page

FILE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "feature-levels.md"
HEAD = """# Feature levels by release

Made by `tools/document_features.py` from the tables of releases.

## When to bump a feature

KIP-584's guidelines, which hold for features of ours too:

- The highest level of a feature rises if, and only if, a change breaks something:
  older servers or clients would not understand what the new level writes or says.
  Such a change takes effect when an operator finalizes the level, after the whole cluster runs the release.
- Its lowest level rises if, and only if, a level is given up.
  That needs a major release, announced beforehand; the API never raises it.
- Everything else changes without a new level.
- Whenever a supported range changes, or a level is given up, the release notes say so.

Upgrading is: roll the release out, then finalize (`falkirk features upgrade-all`).
Downgrading is: lower the levels (`falkirk features downgrade-all --release R`), then roll back.
"""


def document() -> str:
    releases = [release for release in all_releases() if release.tables.kraft is not None]
    return "\n".join([HEAD, ranges_section(releases), levels_section(releases[-1])])


def ranges_section(releases: list[Release]) -> str:
    names = [METADATA_VERSION, *releases[-1].features]
    lines = [
        "## Supported ranges, and where a new cluster starts",
        "",
        "A cell has the levels that nodes of the release support and, behind the arrow, the level of a new cluster.",
        "",
        "| feature | " + " | ".join(str(release) for release in releases) + " |",
        "|---|" + "---|" * len(releases),
    ]
    lines += [f"| `{name}` | " + " | ".join(cell(release, name) for release in releases) + " |" for name in names]
    return "\n".join(lines) + "\n"


def cell(release: Release, name: str) -> str:
    supported = release.supported_features().get(name)
    if supported is None:
        return ""
    latest = release.latest_metadata_version
    if name == METADATA_VERSION:
        return (
            f"{release.metadata_version(supported.lowest)} to {release.metadata_version(supported.highest)} → {latest}"
        )
    return f"{supported} → {release.default_levels(latest)[name]}"


def levels_section(release: Release) -> str:
    lines = [
        f"## Levels in {release}",
        "",
        "A new cluster has a level if it is formatted at its metadata.version or above.",
        "",
        "| feature | level | from | needs |",
        "|---|---|---|---|",
    ]
    for name, feature in release.features.items():
        for level in feature.levels:
            needs = ", ".join(f"`{other}` {needed}" for other, needed in level.dependencies.items())
            lines.append(f"| `{name}` | {level.level} | {level.bootstrap_metadata_version} | {needs} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(write_page(FILE, document()))
