"""The controller's decision on UpdateFeatures: the new `/features`, then the response.

Error messages are those of Kafka's ZooKeeper controller wherever it refuses the same.
Source: KIP-584, validations and guarantees; KIP-778, UpgradeType and ValidateOnly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.levels.feature_rules import Fault, direction_fault, malformed, read_updates, unsupported_clause
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.metadata.requests.bounded_text import bounded_text
from falkirk.metadata.zookeeper.feature_deprecation import highest_minimum
from falkirk.metadata.zookeeper.finalized_features import FeatureState, FinalizedRange
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_response import UpdatableFeatureResult
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import is_supported

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from falkirk.metadata.levels.feature_rules import FeatureUpdate
    from falkirk.metadata.zookeeper.finalized_features import Supported
    from falkirk.protocol.messages import UpdateFeaturesRequest

# Version 2 has the first error alone.
_RESULTS_UP_TO: Final = 1
_NOTHING: Final[Supported] = {}
_MALFORMED: Final = {
    Fault.NO_NAME: "Feature name can not be empty.",
    Fault.REPEATED: "The request updates {} more than once.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateDecision:
    """The state to write, and the response once it is written.

    `state` equals `existing` if nothing changes. `error`: why the request is refused as a whole; `errors`: why some of
    its features are.
    """

    request: "UpdateFeaturesRequest"
    api_version: int
    existing: FeatureState
    state: FeatureState
    errors: "Mapping[str, ApiError]"
    error: ApiError = NO_ERROR

    @property
    def is_validate_only(self) -> bool:
        """True if the request is a dry run."""
        return self.request.validate_only

    @property
    def needs_write(self) -> bool:
        """True if `state` has to be written before the response is sent."""
        return not self.is_validate_only and self.state != self.existing

    def response(self) -> UpdateFeaturesResponse:
        """Return the response if `state` was written, or nothing had to be."""
        return self._answer(NO_ERROR)

    def failed(self, error: ApiError) -> UpdateFeaturesResponse:
        """Return the response if `state` could not be written: `error` for every feature that would have changed."""
        return self._answer(error)

    def _answer(self, outcome: ApiError) -> UpdateFeaturesResponse:
        if self.error.is_failure:
            return refused(self.error)
        names = dict.fromkeys(each.feature for each in self.request.feature_updates)
        errors = {name: self.errors.get(name, outcome) for name in names}
        if self.api_version > _RESULTS_UP_TO:
            return refused(next((error for error in errors.values() if error.is_failure), NO_ERROR))
        results = [UpdatableFeatureResult(name, error.error_code, error.message) for name, error in errors.items()]
        return UpdateFeaturesResponse(error_message=None, results=results)


def decide_update(
    request: UpdateFeaturesRequest,
    api_version: int,
    state: FeatureState,
    brokers: Mapping[int, Supported],
    silent: Collection[int] = (),
) -> UpdateDecision:
    """Decide on an update of finalized max levels; valid features are updated even if others are not.

    `brokers`: what live brokers support, by id. `silent`: further brokers, which advertise no features and so are
    ignored: they block what raises a level, as nothing makes them end.

    Errors of a feature: INVALID_REQUEST for an invalid update, FEATURE_UPDATE_FAILED for one that is not possible now.
    Of the whole: INVALID_REQUEST while features are disabled.

    Version 2 has no results of single features. There all features are updated or none, since an error of the whole
    promises that nothing was changed (KIP-584, guarantees).
    """
    if not state.is_enabled:
        error = ApiError(ErrorCode.INVALID_REQUEST, "Feature versioning system is disabled.")
        return UpdateDecision(
            request=request, api_version=api_version, existing=state, state=state, errors={}, error=error
        )
    updates = read_updates(request, api_version)
    errors = {
        name: ApiError(ErrorCode.INVALID_REQUEST, _MALFORMED[fault].format(name))
        for name, fault in malformed(updates).items()
    }
    features = dict(state.features)
    for update in updates:
        if update.name in errors:
            continue
        existing = state.features.get(update.name)
        error = _update_error(update, existing, brokers, silent)
        if error.is_failure:
            errors[update.name] = error
        elif update.level < 1:
            del features[update.name]
        else:
            features[update.name] = FinalizedRange(
                highest_minimum(update.name, brokers.values()) if existing is None else existing.min_level,
                update.level,
            )
    is_kept = not errors or api_version <= _RESULTS_UP_TO
    return UpdateDecision(
        request=request,
        api_version=api_version,
        existing=state,
        state=FeatureState(is_enabled=True, features=features) if is_kept else state,
        errors=errors,
    )


def refused(error: ApiError) -> UpdateFeaturesResponse:
    """Return the response with an error of the whole request, as NOT_CONTROLLER, without a result for any feature."""
    return UpdateFeaturesResponse(error_code=error.error_code, error_message=error.message)


def _update_error(
    update: FeatureUpdate, existing: FinalizedRange | None, brokers: Mapping[int, Supported], silent: Collection[int]
) -> ApiError:
    reason = _reason_invalid(update, existing)
    if reason is not None:
        return ApiError(ErrorCode.INVALID_REQUEST, reason)
    # A removal is possible whatever brokers support.
    reason = None if update.level < 1 else _reason_impossible(update, existing, brokers, silent)
    return NO_ERROR if reason is None else ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason)


def _reason_invalid(update: FeatureUpdate, existing: FinalizedRange | None) -> str | None:
    """Return why an update is invalid, in the order of Kafka's checks."""
    if update.upgrade_type is None:
        return "Received unknown upgrade type."
    if update.level < 1:
        return _reason_not_deleted(update, existing)
    return None if existing is None else _reason_not_moved(update, existing.max_level)


def _reason_not_deleted(update: FeatureUpdate, existing: FinalizedRange | None) -> str | None:
    if not update.is_downgrade:
        return (
            f"Can not provide versionLevel: {update.level} less than 1 without setting the SAFE downgradeType in the "
            "request."
        )
    return "Can not delete non-existing finalized feature." if existing is None else None


def _reason_not_moved(update: FeatureUpdate, current: int) -> str | None:
    is_safe = update.upgrade_type is UpgradeType.SAFE_DOWNGRADE
    if update.level == current:
        verb = "downgrade" if is_safe else "upgrade"
        return f"Can not {verb} a finalized feature from existing versionLevel:{current} to the same value."
    fault = direction_fault(update, current)
    # What UNSAFE would lose is not known in ZooKeeper mode, so it lowers nothing, as in Kafka.
    if fault is Fault.UNANNOUNCED_DOWNGRADE or (update.level < current and not is_safe):
        return (
            f"Can not downgrade finalized feature from existing versionLevel:{current} to provided "
            f"versionLevel:{update.level} without setting the downgradeType to SAFE in the request."
        )
    if fault is Fault.RISING_DOWNGRADE:
        return (
            "When the downgradeType is set to SAFE in the request, the provided "
            f"versionLevel:{update.level} can not be greater than existing versionLevel:{current}."
        )
    return None


def _reason_impossible(
    update: FeatureUpdate, existing: FinalizedRange | None, brokers: Mapping[int, Supported], silent: Collection[int]
) -> str | None:
    """Return what prevents the update now: the min level, or brokers, all of them by id."""
    if existing is not None and update.level < existing.min_level:
        return (
            f"Could not apply finalized feature update because the provided versionLevel:{update.level} is lower than "
            f"the finalized minVersionLevel:{existing.min_level}."
        )
    is_raised = existing is None or update.level > existing.max_level
    brokers = {**brokers, **dict.fromkeys(silent if is_raised else (), _NOTHING)}
    if not brokers:
        return "Could not apply finalized feature update because no broker is live."
    incapable = [
        f"{unsupported_clause(f'Broker {broker_id}', supported.get(update.name))}."
        for broker_id, supported in sorted(brokers.items())
        if not is_supported(update.level, supported.get(update.name))
    ]
    if not incapable:
        return None
    return (
        "Could not apply finalized feature update because brokers were found to have incompatible versions for the "
        f"feature. {bounded_text(incapable, ' ')}"
    )
