"""What an operator asks of features, and what comes of it: the ledger of each answer is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from falkirk.protocol.feature_update_tags import FeatureUpdateDetails, decode_details, forced_snapshot_consent
from falkirk.protocol.messages import UnregisterBrokerRequest, UpdateFeaturesRequest, UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.simulation.workload.operation import Operation
from falkirk.versions.features import KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.schema import WireMessage
    from falkirk.simulation.workload.history import Register
    from falkirk.versions.metadata_version import MetadataVersion
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelAnswer:
    """What an active controller said to a wish for a level. `message` is empty where it said yes.

    `to` None: the wish was for another feature.
    """

    to: MetadataVersion | None
    upgrade_type: UpgradeType
    is_dry_run: bool
    message: str
    details: FeatureUpdateDetails

    @property
    def loses(self) -> bool:
        """Say whether losses are what is in the way, if anything is."""
        return bool(self.details.losses) and not self.details.blockers

    @property
    def is_known(self) -> bool:
        """Say whether all could be looked at; what could not, perhaps can in a moment."""
        return all(loss["kind"] != _NOT_READ for loss in self.details.losses)


@dataclass(slots=True)
class FeatureHistory:
    """`levels`: all that were asked for in earnest; `unsafe`: those of which it was said that losses are accepted."""

    levels: Register
    unsafe: set[int] = field(default_factory=set)
    answers: list[LevelAnswer] = field(default_factory=list)

    def told(self, to: MetadataVersion) -> set[str] | None:
        """Give the keys in the ledgers of the answers to what lowered a level; None if there is none.

        An answer may die with its leader: who asks again is told that it is so already, without a ledger and a bundle.
        """
        ledgers = [
            each.details.losses
            for each in self.answers
            if each.to == to and not each.is_dry_run and not each.message and each.details.undo_bundle is not None
        ]
        return {loss["key"] for losses in ledgers for loss in losses} if ledgers else None


def level_update(
    to: MetadataVersion,
    others: Mapping[str, int],
    upgrade_type: UpgradeType,
    history: FeatureHistory,
    *,
    is_dry_run: bool,
) -> Operation:
    """Ask for a level, and those of `others`, with consent to forced snapshots."""
    updates = [
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
        for name, level in {**others, METADATA_VERSION: to.level}.items()
    ]
    request = UpdateFeaturesRequest(feature_updates=updates, validate_only=is_dry_run)
    request.unknown_tagged_fields = forced_snapshot_consent()
    if not is_dry_run:
        history.levels.values.append(to.level)
        if upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
            history.unsafe.add(to.level)
    what = f"{'try' if is_dry_run else 'make'} {upgrade_type.name} to {to}"
    return Operation(what, request, update_error, lambda _: None if is_dry_run else history.levels.acknowledge())


def feature_update(name: str, level: int, upgrade_type: UpgradeType) -> Operation:
    """Ask for the level of a feature that is not metadata.version."""
    key = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade_type)
    request = UpdateFeaturesRequest(feature_updates=[key])
    return Operation(f"make {upgrade_type.name} of {name} to {level}", request, update_error, lambda _: None)


def lowered_features(finalized: Mapping[str, int], release: Release) -> dict[str, int]:
    """Give the features that a release does not support as they are, with the highest level that it does."""
    supported = release.supported_features()
    return {
        feature.name: supported[feature.name].highest if feature.name in supported else 0
        for feature in release.unsupported_features(finalized)
        if feature.name not in {METADATA_VERSION, KRAFT_VERSION}
    }


def unregistration(broker_id: int) -> Operation:
    """Ask to forget a broker."""
    request = UnregisterBrokerRequest(broker_id=broker_id)
    return Operation(f"unregister {broker_id}", request, lambda response: response.error_code, lambda _: None)


def update_error(response: UpdateFeaturesResponse) -> int:
    """Give the error of the whole, or that of the only feature."""
    return response.error_code or max((result.error_code for result in response.results), default=0)


def level_answer(
    to: MetadataVersion | None, upgrade_type: UpgradeType, response: WireMessage, *, is_dry_run: bool
) -> LevelAnswer:
    """Read what was answered."""
    assert isinstance(response, UpdateFeaturesResponse)
    message = ""
    if update_error(response):
        texts = [response.error_message, *(result.error_message for result in response.results)]
        message = " ".join(text for text in texts if text) or "refused"
    details = decode_details(response.unknown_tagged_fields) or FeatureUpdateDetails()
    return LevelAnswer(to=to, upgrade_type=upgrade_type, is_dry_run=is_dry_run, message=message, details=details)


_NOT_READ: Final = "not_read"
