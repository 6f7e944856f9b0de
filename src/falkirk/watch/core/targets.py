"""The older releases that ways lead to: every one that falkirk lowers a cluster to."""

from __future__ import annotations

from functools import cache

from falkirk.logdir.target import Target
from falkirk.versions.errors import IncompleteReleaseError
from falkirk.versions.metadata_version import FLOOR, MetadataVersion
from falkirk.versions.release import Release, all_releases


@cache
def older_releases() -> tuple[Target, ...]:
    """Return all but the newest release that can be gone to, rising, each with its latest production level."""
    found = [
        Target(metadata_version=level, release=release)
        for release in all_releases()
        if (level := _level(release)) is not None and level >= FLOOR
    ]
    return tuple(found[:-1])


def _level(release: Release) -> MetadataVersion | None:
    try:
        return release.latest_metadata_version
    except IncompleteReleaseError:
        return None
