"""metadata.version: the records of the metadata log and the inter-broker requests of each level.

Levels are ordered; a level holds all that the levels below it hold. Source: KIP-778, KIP-1155, and the rows.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NewType

from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version_rows import METADATA_VERSION_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.versions.notation import MetadataVersionRow

FeatureLevel = NewType("FeatureLevel", int)

METADATA_VERSION: Final = "metadata.version"
_LEVEL_DIGITS_MAX: Final = 5


@functools.total_ordering
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MetadataVersion:
    """One metadata.version that a KRaft cluster can run at. Compared by level; made by `of_level` and `parse`."""

    level: FeatureLevel
    name: str
    # The metadata log can hold something here that it could not hold one level below. Kafka's own controller goes by
    # this alone and so refuses more downgrades than it must.
    changes_metadata: bool
    # No release runs it in production; reached only with unstable.feature.versions.enable.
    unstable: bool
    # Names of abilities; the properties below say the same, spelled out and typed.
    abilities: frozenset[str]
    # Record versions by the row's name for the record; a record that is not there has no version to choose.
    writes: "Mapping[str, int]" = field(repr=False)
    # Request versions by the row's name for the API.
    sends: "Mapping[str, int]" = field(repr=False)

    @classmethod
    def of_level(cls, level: int) -> MetadataVersion:
        """Return the metadata.version of a level. Raises UnknownMetadataVersionError."""
        try:
            return _by_level()[level]
        except KeyError:
            raise UnknownMetadataVersionError(f"unknown metadata.version level {level}: {_known()}") from None

    @classmethod
    def parse(cls, text: str) -> MetadataVersion:
        """Read `3.9-IV0`, a release (`3.9`, `3.9.1`: its latest production level) or a bare level (`21`).

        Raises UnknownMetadataVersionError.
        """
        named = _by_name().get(text)
        if named is not None:
            return named
        # A level has 16 bits, and Python refuses to read thousands of digits.
        if text.isascii() and text.isdigit() and len(text) <= _LEVEL_DIGITS_MAX:
            return cls.of_level(int(text))
        word = _release_word(text)
        if word is not None and word in LATEST_OF_RELEASE:
            return LATEST_OF_RELEASE[word]
        raise UnknownMetadataVersionError(f"unknown metadata.version '{text}': {_known()}")

    @property
    def release(self) -> str:
        """Return the release that introduced it: `3.9` for 3.9-IV0."""
        return self.name.partition("-")[0]

    # --- Record versions, as a writer chooses them.

    @property
    def partition_record_version(self) -> int:
        """Return the version of PartitionRecord: 1 with directories, 2 with eligible leader replicas."""
        return self.writes["partition"]

    @property
    def partition_change_record_version(self) -> int:
        """Return the version of PartitionChangeRecord: as `partition_record_version`."""
        return self.writes["partition_change"]

    @property
    def register_broker_record_version(self) -> int:
        """Return the version of RegisterBrokerRecord: 1 controlled shutdown, 2 migration, 3 log dirs, 4 cordoned."""
        return self.writes["register_broker"]

    @property
    def broker_registration_change_record_version_max(self) -> int:
        """Return the highest version of BrokerRegistrationChangeRecord; Kafka writes the lowest that holds its fields.

        0 fencing, 1 controlled shutdown, 2 log dirs, 3 cordoned log dirs. No fact table has it: it follows from the
        abilities, and logs of real clusters agree.
        """
        if self.cordoned_log_dirs_supported:
            return 3
        if self.directory_assignment_supported:
            return 2
        return 1 if self.in_controlled_shutdown_supported else 0

    @property
    def register_controller_record_version(self) -> int | None:
        """Return the version of RegisterControllerRecord; None below 3.7-IV0."""
        return self.writes.get("register_controller")

    # --- What may be in the metadata log, or done, at this level.

    @property
    def no_op_record_supported(self) -> bool:
        """Return whether NoOpRecord may be written (3.3-IV1)."""
        return "no_op_record" in self.abilities

    @property
    def broker_registration_change_record_supported(self) -> bool:
        """Return whether BrokerRegistrationChangeRecord replaces the fence and unfence records (3.3-IV2)."""
        return "broker_registration_change_record" in self.abilities

    @property
    def in_controlled_shutdown_supported(self) -> bool:
        """Return whether registrations record a controlled shutdown (3.3-IV3)."""
        return "in_controlled_shutdown" in self.abilities

    @property
    def migration_supported(self) -> bool:
        """Return whether a migration from ZooKeeper is recorded (3.4-IV0)."""
        return "migration" in self.abilities

    @property
    def scram_supported(self) -> bool:
        """Return whether the log holds SCRAM credentials (3.5-IV2)."""
        return "scram" in self.abilities

    @property
    def leader_epoch_bump_required_on_isr_shrink(self) -> bool:
        """Return whether a shrinking ISR raises the leader epoch (until 3.6-IV0)."""
        return "leader_epoch_bump_on_isr_shrink" in self.abilities

    @property
    def metadata_transaction_supported(self) -> bool:
        """Return whether records may be bracketed as a metadata transaction (3.6-IV1)."""
        return "metadata_transaction" in self.abilities

    @property
    def delegation_token_supported(self) -> bool:
        """Return whether the log holds delegation tokens (3.6-IV2)."""
        return "delegation_token" in self.abilities

    @property
    def controller_registration_supported(self) -> bool:
        """Return whether controllers register (3.7-IV0); below, their supported features cannot be checked."""
        return "controller_registration" in self.abilities

    @property
    def directory_assignment_supported(self) -> bool:
        """Return whether partition records hold the log directories of replicas (3.7-IV2)."""
        return "directory_assignment" in self.abilities

    @property
    def elr_supported(self) -> bool:
        """Return whether partitions hold eligible leader replicas (4.0-IV1)."""
        return "elr" in self.abilities

    @property
    def cordoned_log_dirs_supported(self) -> bool:
        """Return whether registrations hold cordoned log directories (4.3-IV0)."""
        return "cordoned_log_dirs" in self.abilities

    @property
    def cidr_acl_supported(self) -> bool:
        """Return whether an ACL's host may be an address range (4.4-IV1).

        Below, such a host is a literal that matches no client: an ALLOW loses access, a DENY opens it.
        """
        return "cidr_acl" in self.abilities

    @property
    def controller_unregistration_supported(self) -> bool:
        """Return whether UnregisterControllerRecord may be written (4.4-IV2)."""
        return "controller_unregistration" in self.abilities

    # --- Requests between brokers.

    @property
    def fetch_request_version(self) -> int:
        """Return the version of Fetch that followers send."""
        return self.sends["fetch"]

    @property
    def list_offsets_request_version(self) -> int:
        """Return the version of ListOffsets that followers send."""
        return self.sends["list_offsets"]

    def __str__(self) -> str:
        """Return the name that operators use."""
        return self.name

    def __eq__(self, other: object) -> bool:
        """Compare levels, as the order does: a draft and its final version are one level."""
        return isinstance(other, MetadataVersion) and self.level == other.level

    def __hash__(self) -> int:
        return hash(self.level)

    def __lt__(self, other: MetadataVersion) -> bool:
        return self.level < other.level


def fold_rows(rows: Iterable[MetadataVersionRow]) -> Iterator[MetadataVersion]:
    """Yield each metadata.version that has a level; each row holds the changes since the one below it."""
    abilities: frozenset[str] = frozenset()
    writes: Mapping[str, int] = {}
    sends: Mapping[str, int] = {}
    for row in rows:
        abilities = (abilities | set(row.supports.split())) - set(row.ends.split())
        writes = {**writes, **row.writes}
        sends = {**sends, **row.sends}
        if row.level is not None:
            yield MetadataVersion(
                level=FeatureLevel(row.level),
                name=row.name,
                changes_metadata=row.changes_metadata,
                unstable=row.unstable,
                abilities=abilities,
                writes=writes,
                sends=sends,
            )


def _release_word(text: str) -> str | None:
    """Return `3.9` for `3.9` and `3.9.1`; None for any other text."""
    parts = text.split(".")
    if len(parts) not in {2, 3} or not all(part.isascii() and part.isdigit() for part in parts):
        return None
    return ".".join(parts[:2])


def _known() -> str:
    lowest, highest = METADATA_VERSIONS[0], METADATA_VERSIONS[-1]
    return (
        f"known are {lowest} ({lowest.level}) to {highest} ({highest.level}), "
        f"and releases {lowest.release} to {LATEST_PRODUCTION.release}"
    )


METADATA_VERSIONS: Final[tuple[MetadataVersion, ...]] = tuple(fold_rows(METADATA_VERSION_ROWS))


@functools.cache
def _by_level() -> dict[int, MetadataVersion]:
    return {int(version.level): version for version in METADATA_VERSIONS}


@functools.cache
def _by_name() -> dict[str, MetadataVersion]:
    return {version.name: version for version in METADATA_VERSIONS}


LATEST_PRODUCTION: Final = max(version for version in METADATA_VERSIONS if not version.unstable)
# By release word: the highest level that a cluster of that release runs at in production.
LATEST_OF_RELEASE: Final[Mapping[str, MetadataVersion]] = {
    version.release: version for version in METADATA_VERSIONS if not version.unstable
}
# No lower level can be reached: below it controllers do not register, so nobody could tell whether all of them
# support the target. Source: KIP-1155, proposed changes.
FLOOR: Final = _by_name()["3.7-IV0"]
LEVEL_WITHOUT_RECORD: Final = METADATA_VERSIONS[0]
"""The level of a log that has no record of one: that of the preview releases, 3.0-IV1 (KIP-778)."""
