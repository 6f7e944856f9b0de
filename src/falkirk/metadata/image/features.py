"""Finalized features, metadata.version and the state of a migration from ZooKeeper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from immutables import Map

from falkirk.metadata.image.keyed_delta import KeyedDelta
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import ZK_MIGRATION_STATE_KEY, feature_key
from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from falkirk.protocol.messages import FeatureLevelRecord, ZkMigrationStateRecord

NO_ZK_MIGRATION: Final = 0
# 0 none, 2 waiting for all brokers, 1 running (both are written), 3 finished, 4 on ZooKeeper. Source: KIP-866.
_ZK_MIGRATION_STATES: Final = range(5)


class FeaturesImage(msgspec.Struct, frozen=True):
    """Finalized levels, and the migration from ZooKeeper.

    `finalized` has the features other than metadata.version whose level is not 0. kraft.version is not among them: it
    is in control records, and callers that know it pass it in. `metadata_version` is None until a record sets it.
    """

    finalized: Map[str, int] = Map()
    metadata_version: MetadataVersion | None = None
    zk_migration_state: int = NO_ZK_MIGRATION

    @property
    def is_elr_enabled(self) -> bool:
        """True if partitions keep eligible leader replicas (KIP-966)."""
        return self.finalized.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0

    def levels(self, *, kraft_version: int = 0) -> dict[str, int]:
        """Return all finalized levels by name as an Admin client sees them, metadata.version and kraft.version too."""
        levels = dict(self.finalized)
        if self.metadata_version is not None:
            levels[METADATA_VERSION] = self.metadata_version.level
        if kraft_version:
            levels[KRAFT_VERSION] = kraft_version
        return dict(sorted(levels.items()))


class FeaturesDelta:
    """Pending changes of the features."""

    def __init__(self, image: FeaturesImage) -> None:
        self.image = image
        self.finalized = KeyedDelta(image.finalized)
        self.metadata_version = image.metadata_version
        self.zk_migration_state = image.zk_migration_state

    @property
    def metadata_version_changed(self) -> bool:
        """True if metadata.version differs from the image before."""
        return self.metadata_version != self.image.metadata_version

    def replay_feature_level(self, record: FeatureLevelRecord) -> None:
        """Set a level; 0 removes the feature. Raises InconsistentRecordError for an unknown metadata.version."""
        name, level = record.name, record.feature_level
        if name == METADATA_VERSION:
            try:
                self.metadata_version = MetadataVersion.of_level(level)
            except UnknownMetadataVersionError as error:
                raise InconsistentRecordError("FeatureLevelRecord", str(error), key=feature_key(name)) from error
        elif name == KRAFT_VERSION:
            return  # as in Kafka: only control records decide
        elif level == 0:
            self.finalized.remove(name)
        else:
            self.finalized.put(name, level)

    def replay_zk_migration_state(self, record: ZkMigrationStateRecord) -> None:
        """Set the state of the migration. Kafka 4 ignores it; 3.x does not, so it is kept."""
        state = record.zk_migration_state
        if state not in _ZK_MIGRATION_STATES:
            reason = f"unknown state {state}, 0 to 4 are known"
            raise InconsistentRecordError("ZkMigrationStateRecord", reason, key=ZK_MIGRATION_STATE_KEY)
        self.zk_migration_state = state

    def apply(self) -> FeaturesImage:
        """Return the next image."""
        return FeaturesImage(self.finalized.apply(), self.metadata_version, self.zk_migration_state)

    @classmethod
    def between(cls, before: FeaturesImage, after: FeaturesImage) -> FeaturesDelta:
        """Return the delta that leads from one image to the other."""
        delta = cls(before)
        delta.finalized = KeyedDelta.between(before.finalized, after.finalized)
        delta.metadata_version = after.metadata_version
        delta.zk_migration_state = after.zk_migration_state
        return delta
