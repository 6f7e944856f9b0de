"""The target of a downgrade: a metadata.version, and the release whose binaries read the result."""

from __future__ import annotations

from dataclasses import dataclass

from falkirk.logdir.errors import TargetError
from falkirk.versions.errors import IncompleteReleaseError, VersionsError
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS, MetadataVersion
from falkirk.versions.release import Release, all_releases


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A metadata.version and the oldest release that runs it; that release decides what its servers can read."""

    metadata_version: MetadataVersion
    release: Release

    def __str__(self) -> str:
        """Return the target as the operator reads it: `3.9-IV0 (Kafka 3.9)`."""
        return f"{self.metadata_version} (Kafka {self.release.word})"


def parse_target(text: str, *, read_by: str | None = None) -> Target:
    """Parse a level (`3.9-IV0`, `21`) or a release (`3.9`, which means its latest production level).

    `read_by` is the release that will run there, if it is not the oldest one that can.
    Raises TargetError for what is unknown, unstable, or below the floor of 3.7, and for a release that cannot run it.
    """
    try:
        metadata_version = MetadataVersion.parse(text)
    except VersionsError as error:
        raise TargetError(f"{text}: {error}") from error
    if metadata_version < FLOOR:
        raise TargetError(
            f"{text}: {metadata_version} is below {FLOOR}, the lowest level that can be gone to: "
            "below it controllers do not register, so their supported features are not known (KIP-1155)"
        )
    if read_by is not None:
        return _target_of(metadata_version, read_by)
    for release in all_releases():
        if _runs(release, metadata_version):
            return Target(metadata_version=metadata_version, release=release)
    known = ", ".join(str(each) for each in METADATA_VERSIONS if each >= FLOOR and not each.unstable)
    raise TargetError(f"{text}: no release runs {metadata_version} in production; levels to go to are {known}")


def _target_of(metadata_version: MetadataVersion, name: str) -> Target:
    try:
        release = Release.parse(name)
    except VersionsError as error:
        raise TargetError(str(error)) from error
    if not _runs(release, metadata_version):
        raise TargetError(f"Kafka {release} does not run {metadata_version}")
    return Target(metadata_version=metadata_version, release=release)


def _runs(release: Release, metadata_version: MetadataVersion) -> bool:
    try:
        return release.latest_metadata_version >= metadata_version
    except IncompleteReleaseError:
        return False
