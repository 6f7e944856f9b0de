"""The operator's requests that change features, and how their responses are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.protocol.feature_update_tags import FeatureUpdateDetails, decode_details, encode_consents
from falkirk.protocol.messages import UnregisterBrokerRequest, UpdateFeaturesRequest, UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.history.feature_history import LevelAnswer
from falkirk.simulation.workload.operation import Operation
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.history.feature_history import FeatureHistory
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


def level_update(
    to: MetadataVersion,
    others: Mapping[str, int],
    upgrade_type: UpgradeType,
    history: FeatureHistory,
    *,
    is_dry_run: bool,
) -> Operation:
    """Return an update of metadata.version, and of `others`, with consent to forced snapshots."""
    updates = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
        for name, level in {**others, METADATA_VERSION: to.level}.items()
    ]
    request = UpdateFeaturesRequest(feature_updates=updates, validate_only=is_dry_run)
    request.unknown_tagged_fields = encode_consents(forced_snapshot=True)
    if not is_dry_run:
        history.levels.values.append(to.level)
        if upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
            history.unsafe.add(to.level)
    what = f"{'try' if is_dry_run else 'make'} {upgrade_type.name} to {to}"
    return Operation(what, request, update_error, lambda _: None if is_dry_run else history.levels.acknowledge())


def feature_update(name: str, level: int, upgrade_type: UpgradeType) -> Operation:
    """Return an update of a feature other than metadata.version."""
    key = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
    request = UpdateFeaturesRequest(feature_updates=[key])
    return Operation(f"make {upgrade_type.name} of {name} to {level}", request, update_error, lambda _: None)


def lowered_features(finalized: Mapping[str, int], release: Release) -> dict[str, int]:
    """Return the finalized features that a release does not support, each with the highest level that it supports."""
    supported = release.supported_features()
    return {
        feature.name: supported[feature.name].highest if feature.name in supported else 0
        for feature in release.unsupported_features(finalized)
        if feature.name not in {METADATA_VERSION, KRAFT_VERSION}
    }


def unregistration(broker_id: int) -> Operation:
    """Return the request to unregister a broker."""
    request = UnregisterBrokerRequest(broker_id=broker_id)
    return Operation(f"unregister {broker_id}", request, lambda response: response.error_code, lambda _: None)


def update_error(response: UpdateFeaturesResponse) -> int:
    """Return the top-level error code, or that of the only feature."""
    return response.error_code or max((result.error_code for result in response.results), default=0)


def level_answer(
    to: MetadataVersion | None, upgrade_type: UpgradeType, response: WireMessage, *, is_dry_run: bool
) -> LevelAnswer:
    """Read the response to an update of a level."""
    assert isinstance(response, UpdateFeaturesResponse)
    message = ""
    if update_error(response):
        texts = [response.error_message, *(result.error_message for result in response.results)]
        message = " ".join(text for text in texts if text) or "refused"
    details = decode_details(response.unknown_tagged_fields) or FeatureUpdateDetails()
    return LevelAnswer(to=to, upgrade_type=upgrade_type, is_dry_run=is_dry_run, message=message, details=details)
