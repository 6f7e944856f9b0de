"""Updates of finalized features: their requests in each version, and the result for each feature.

    update = FeatureUpdate(21, UpgradeType.SAFE_DOWNGRADE)
    result = await admin.update_features({"metadata.version": update}, validate_only=True)
    result.values["metadata.version"]  # None, or the failure

Sources: KIP-584, KIP-778; version 2 of UpdateFeatures has no results for single features.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.client.errors import FeatureUpdateFailedError
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.feature_update_tags import FeatureUpdateDetails, decode_details, encode_consents
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.messages import UpdateFeaturesResponse

LEVEL_MAX: Final = (1 << 15) - 1
DRY_RUN: Final = "a dry run"
"""What `missing_in_version_0` calls a dry run."""


@dataclass(frozen=True, slots=True, init=False)
class FeatureUpdate:
    """The level that a feature is to have; 0 disables it, and is a downgrade.

    `allow_downgrade` is KIP-584's deprecated flag: true stands for a safe downgrade.
    Raises ValueError for a level that no update can have, in the words of Kafka's client.
    """

    max_version_level: int
    upgrade_type: UpgradeType

    def __init__(
        self,
        max_version_level: int,
        upgrade_type: UpgradeType = UpgradeType.UPGRADE,
        *,
        allow_downgrade: bool | None = None,
    ) -> None:
        if allow_downgrade is not None:
            warnings.warn("allow_downgrade: say upgrade_type instead", DeprecationWarning, stacklevel=2)
            upgrade_type = UpgradeType.SAFE_DOWNGRADE if allow_downgrade else UpgradeType.UPGRADE
        if max_version_level == 0 and upgrade_type is UpgradeType.UPGRADE:
            raise ValueError(
                "The upgradeType flag should be set to SAFE_DOWNGRADE or UNSAFE_DOWNGRADE when the provided "
                "maxVersionLevel:0 is < 1."
            )
        if max_version_level < 0:
            raise ValueError("Cannot specify a negative version level.")
        if max_version_level > LEVEL_MAX:
            raise ValueError(f"level {max_version_level} is above {LEVEL_MAX}, the highest that there can be")
        object.__setattr__(self, "max_version_level", max_version_level)
        object.__setattr__(self, "upgrade_type", upgrade_type)

    @property
    def allow_downgrade(self) -> bool:
        """Whether the level may fall. Deprecated since KIP-778: use `upgrade_type`."""
        warnings.warn("allow_downgrade: ask for upgrade_type instead", DeprecationWarning, stacklevel=2)
        return self.upgrade_type is not UpgradeType.UPGRADE


@dataclass(frozen=True, slots=True)
class FeatureUpdateFailure:
    """Why a feature was not changed. `message`: the server's, or the name of the error."""

    error_code: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateFeaturesResult:
    """The failure of each update, by feature: None if it succeeded, or passed the validation.

    `details`: losses and blockers, itemised; None from servers that do not report them, as Kafka's.
    """

    endpoint: Endpoint
    values: Mapping[str, FeatureUpdateFailure | None]
    details: FeatureUpdateDetails | None

    @property
    def is_not_controller(self) -> bool:
        """Whether the node is not the active controller, so that nothing was done."""
        return all(
            failure is not None and failure.error_code == ErrorCode.NOT_CONTROLLER for failure in self.values.values()
        )

    def without_failures_of(self, features: Container[str]) -> UpdateFeaturesResult:
        """Return the result without the INVALID_REQUEST failures of features that have the requested level."""
        values = {
            name: None if failure and failure.error_code == ErrorCode.INVALID_REQUEST and name in features else failure
            for name, failure in self.values.items()
        }
        return replace(self, values=values)

    def all(self) -> None:
        """Return if all updates succeeded, else raise FeatureUpdateFailedError with the first that did not."""
        for feature, failure in self.values.items():
            if failure is not None:
                raise FeatureUpdateFailedError(self.endpoint, feature, failure.error_code, failure.message)


def update_request(
    updates: Mapping[str, FeatureUpdate],
    *,
    version_0: bool,
    timeout_ms: int,
    validate_only: bool,
    forced_snapshot: bool = False,
    abort_transactions: bool = False,
) -> UpdateFeaturesRequest:
    """Return the request. With `version_0` it must not need anything that `missing_in_version_0` names."""
    return UpdateFeaturesRequest(
        timeout_ms=timeout_ms,
        feature_updates=[
            FeatureUpdateKey(
                feature=feature,
                max_version_level=update.max_version_level,
                allow_downgrade=version_0 and update.upgrade_type is not UpgradeType.UPGRADE,
                upgrade_type=UpgradeType.UPGRADE if version_0 else update.upgrade_type,
            )
            for feature, update in updates.items()
        ],
        validate_only=validate_only,
        unknown_tagged_fields=encode_consents(forced_snapshot=forced_snapshot, abort_transactions=abort_transactions),
    )


def missing_in_version_0(updates: Iterable[FeatureUpdate], *, validate_only: bool) -> str | None:
    """Return what version 0 cannot express, or a server with version 0 would do differently; None if nothing."""
    if any(update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE for update in updates):
        return "an UNSAFE downgrade"
    return DRY_RUN if validate_only else None


def read_result(endpoint: Endpoint, updates: Iterable[str], response: UpdateFeaturesResponse) -> UpdateFeaturesResult:
    """Return the result of each update, sorted by name, from any version of the response."""
    if response.error_code != ErrorCode.NONE or not response.results:
        outcome = _outcome(response.error_code, response.error_message)
        values = dict.fromkeys(sorted(updates), outcome)
    else:
        outcomes = {result.feature: _outcome(result.error_code, result.error_message) for result in response.results}
        values = {feature: outcomes.get(feature, _no_result(feature)) for feature in sorted(updates)}
    return UpdateFeaturesResult(
        endpoint=endpoint, values=values, details=decode_details(response.unknown_tagged_fields)
    )


def _outcome(error_code: int, message: str | None) -> FeatureUpdateFailure | None:
    return None if error_code == ErrorCode.NONE else FeatureUpdateFailure(error_code, message or error_name(error_code))


def _no_result(feature: str) -> FeatureUpdateFailure:
    text = f"The controller response did not contain a result for feature {feature}"
    return FeatureUpdateFailure(ErrorCode.UNKNOWN_SERVER_ERROR, text)
