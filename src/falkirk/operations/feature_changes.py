"""Changes of features, and their dry runs: by the controller, or here if it has version 0 of UpdateFeatures alone.

Sources: KIP-584 (validations, advanced CLI tool usage); ValidateOnly came with KIP-778.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from falkirk.client.errors import ClientError, UnsupportedUpdateError
from falkirk.client.feature_update import DRY_RUN, FeatureUpdate, read_result, update_request
from falkirk.metadata.zookeeper.feature_update import decide_update
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.client.feature_update import UpdateFeaturesResult
    from falkirk.metadata.zookeeper.finalized_features import Supported


class ChangeKind(Enum):
    """What an update does to a feature, by KIP-584's mark."""

    ADD = "Add"
    UPGRADE = "Upgrade"
    DOWNGRADE = "Downgrade"
    DELETE = "Delete"

    @classmethod
    def of(cls, update: FeatureUpdate, before: int) -> ChangeKind:
        """Return the kind for a feature with this finalized max level; 0: it has none."""
        if update.upgrade_type is UpgradeType.UPGRADE:
            return cls.UPGRADE if before else cls.ADD
        return cls.DOWNGRADE if update.max_version_level else cls.DELETE


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedChanges:
    """Levels by feature, and features to delete. `allow_downgrade`: levels in `upgrade` may also be lower."""

    upgrade: Mapping[str, int]
    downgrade: Mapping[str, int]
    delete: tuple[str, ...]
    allow_downgrade: bool

    def updates(self, before: Mapping[str, int]) -> dict[str, FeatureUpdate]:
        """Return the updates in that order; `before`: finalized max levels.

        With `allow_downgrade` an update is a downgrade only if the level falls: servers refuse it otherwise.
        """
        updates = {
            name: FeatureUpdate(level, self._upgrade_type(level, before.get(name, 0)))
            for name, level in self.upgrade.items()
        }
        lowered = {**self.downgrade, **dict.fromkeys(self.delete, 0)}
        return updates | {name: FeatureUpdate(level, UpgradeType.SAFE_DOWNGRADE) for name, level in lowered.items()}

    def _upgrade_type(self, level: int, before: int) -> UpgradeType:
        return UpgradeType.SAFE_DOWNGRADE if self.allow_downgrade and level < before else UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOutcome:
    """The result of updates or of their dry run. `note`: a sentence on who decided, if it was not the controller.

    `is_ledger_ours`: the controller refuses without a reason of its own, and losses were computed from the metadata.
    """

    updates: Mapping[str, FeatureUpdate]
    result: UpdateFeaturesResult
    note: str | None = None
    is_ledger_ours: bool = False

    @property
    def failed(self) -> tuple[str, ...]:
        """The features that were refused."""
        return tuple(feature for feature, failure in self.result.values.items() if failure is not None)

    @property
    def would_lose_data(self) -> bool:
        """True if downgrades were refused for their losses, and nothing else blocks them."""
        details = self.result.details
        if details is None or not details.losses or details.blockers or self.is_ledger_ours:
            return False
        return any(map(self.is_refused_downgrade, self.failed))

    @property
    def lacks_ledger(self) -> bool:
        """True if a server that itemises nothing refused to lower metadata.version."""
        update = self.updates.get(METADATA_VERSION)
        is_lowering = update is not None and update.upgrade_type is not UpgradeType.UPGRADE
        return is_lowering and METADATA_VERSION in self.failed and self.result.details is None

    def is_refused_downgrade(self, feature: str) -> bool:
        """Return whether a safe downgrade of the feature was refused."""
        failure = self.result.values[feature]
        is_safe = self.updates[feature].upgrade_type is UpgradeType.SAFE_DOWNGRADE
        return failure is not None and is_safe and failure.error_code == ErrorCode.INVALID_UPDATE_VERSION


async def update_features(
    admin: AsyncAdmin,
    updates: Mapping[str, FeatureUpdate],
    *,
    is_dry_run: bool = False,
    forced_snapshot: bool = False,
    abort_transactions: bool = False,
    timeout_ms: int = 60_000,
) -> UpdateOutcome:
    """Make the updates, or with `is_dry_run` validate them: by the controller, or by the brokers' supported features.

    `forced_snapshot`, `abort_transactions`, `timeout_ms`: as in AsyncAdmin.update_features. Raises as that, and
    ClientError if a broker does not answer.
    """
    try:
        result = await admin.update_features(
            updates,
            validate_only=is_dry_run,
            forced_snapshot=forced_snapshot,
            abort_transactions=abort_transactions,
            timeout_ms=timeout_ms,
        )
    except UnsupportedUpdateError as refused:
        if not is_dry_run or refused.requested != DRY_RUN:
            raise
        return await _decide(admin, updates, refused)
    return UpdateOutcome(updates=updates, result=result)


async def _decide(
    admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], refused: UnsupportedUpdateError
) -> UpdateOutcome:
    nodes = (await admin.describe_cluster()).nodes
    brokers: dict[int, Supported] = {}
    for node_id, versions in (await admin.api_versions(nodes)).items():
        if isinstance(versions, ClientError):
            raise versions
        brokers[node_id] = versions.supported_features
    request = update_request(updates, version_0=True, timeout_ms=0, validate_only=True)
    decision = decide_update(request, 0, _state(await admin.newest_features()), brokers)
    return UpdateOutcome(
        updates=updates,
        result=read_result(refused.endpoint, updates, decision.response()),
        note=f"{refused.endpoint} has version 0 of UpdateFeatures alone, which has no dry runs: it was decided here, "
        f"by the answers of these brokers: {', '.join(map(str, sorted(brokers)))}",
    )


def _state(features: FeatureMetadata) -> FeatureState:
    """Return the finalized features; a node that reports no epoch has none."""
    return FeatureState(
        is_enabled=features.finalized_features_epoch is not None,
        features={
            name: FinalizedRange(
                max(min(levels.min_version_level, levels.max_version_level), 1), levels.max_version_level
            )
            for name, levels in features.finalized_features.items()
            if levels.max_version_level >= 1
        },
    )
