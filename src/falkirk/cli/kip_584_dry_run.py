"""Dry runs of updates of features: by the controller, or here where it has version 0 of UpdateFeatures alone.

Source: KIP-584, validations; ValidateOnly came with KIP-778.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.client.errors import ClientError, UnsupportedUpdateError
from falkirk.client.feature_update import DRY_RUN, read_result, update_request
from falkirk.metadata.zookeeper.feature_update import decide_update
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.feature_metadata import FeatureMetadata
    from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
    from falkirk.metadata.zookeeper.finalized_features import Supported


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateOutcome:
    """What came of updates, or would come of them. `note`: who decided if it was not the controller, for people."""

    result: UpdateFeaturesResult
    note: str | None = None


async def dry_run(admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], *, forced_snapshot: bool) -> UpdateOutcome:
    """Ask the controller what would come of updates, or decide by what all brokers tell.

    Raises as AsyncAdmin.update_features, and ClientError where a broker cannot be asked.
    """
    try:
        result = await admin.update_features(updates, validate_only=True, forced_snapshot=forced_snapshot)
    except UnsupportedUpdateError as refused:
        if refused.asked != DRY_RUN:
            raise
        return await _decide(admin, updates, refused)
    return UpdateOutcome(result=result)


async def _decide(
    admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate], refused: UnsupportedUpdateError
) -> UpdateOutcome:
    nodes = (await admin.describe_cluster()).nodes
    brokers: dict[int, Supported] = {}
    for node_id, told in (await admin.api_versions(nodes)).items():
        if isinstance(told, ClientError):
            raise told
        brokers[node_id] = told.supported_features
    request = update_request(updates, version_0=True, timeout_ms=0, validate_only=True, forced_snapshot=False)
    decision = decide_update(request, 0, _state(await admin.newest_features()), brokers)
    return UpdateOutcome(
        result=read_result(refused.endpoint, updates, decision.response()),
        note=f"{refused.endpoint} has version 0 of UpdateFeatures alone, which has no dry runs: it was decided here, "
        f"by what these brokers tell: {', '.join(map(str, sorted(brokers)))}",
    )


def _state(features: FeatureMetadata) -> FeatureState:
    """Give what is finalized; nodes that tell no epoch have no finalized features."""
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
