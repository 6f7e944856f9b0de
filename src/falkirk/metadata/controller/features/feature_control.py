"""Supported and finalized features, and what an operator may make of them (KIP-584, KIP-778, KIP-1022, KIP-1155).

The words are Kafka's wherever it refuses the same: operators look for them in logs, and its tools show them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.features.feature_blockers import Need, find_blockers
from falkirk.metadata.controller.features.feature_lowering import lower_features, refused_lowering
from falkirk.metadata.controller.features.feature_update import FeatureUpdateDecision, refused_update
from falkirk.metadata.controller.features.lowering_work import LoweringWork
from falkirk.metadata.controller.state.operation_limit import BATCH_TOO_LARGE, is_too_large
from falkirk.metadata.levels.feature_rules import Fault, direction_fault, malformed, read_updates
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import allows_forced_snapshot
from falkirk.protocol.java_hash_map import map_order
from falkirk.protocol.messages import BeginTransactionRecord, EndTransactionRecord, FeatureLevelRecord
from falkirk.slices import exhaust
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION, KRAFT_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.ledger.findings import Blocker
    from falkirk.ledger.reported_loss import ReportedLoss
    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.features.feature_blockers import Blockers
    from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
    from falkirk.metadata.controller.features.lowering_work import AssessedLowering, LoweringPlan
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.levels.feature_rules import FeatureUpdate
    from falkirk.protocol.messages import UpdateFeaturesRequest
    from falkirk.versions.supported_range import SupportedRange

_TRANSACTION: Final = "Feature update"
_MALFORMED: Final = {
    Fault.NO_NAME: "A feature to update has no name.",
    Fault.REPEATED: "The request updates {} more than once.",
}
_MISDIRECTED: Final[Mapping[Fault | None, str | None]] = {
    None: None,
    Fault.UNANNOUNCED_DOWNGRADE: (
        "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
        "downgrade."
    ),
    Fault.RISING_DOWNGRADE: "Can't downgrade to a newer version.",
}
# Waiting for all brokers, and running (KIP-866).
_ZK_MIGRATION_IN_PROGRESS: Final = (1, 2)


class FeatureControl:
    """Supported and finalized features."""

    def __init__(self, state: ControllerState, settings: ControllerSettings, configs: ConfigurationControl) -> None:
        self._state = state
        self._settings = settings
        self._configs = configs

    @property
    def supported_features(self) -> Mapping[str, SupportedRange]:
        """Return the supported range of each feature of this controller."""
        return self._settings.supported_features

    def finalized_features(self, *, kraft_version: int = 0) -> dict[str, int]:
        """Return the finalized levels by name, sorted; those at level 0 are not among them."""
        return self._state.image.features.levels(kraft_version=kraft_version)

    @property
    def is_elr_enabled(self) -> bool:
        """Return whether eligible leader replicas are kept (KIP-966)."""
        return self._state.image.features.is_elr_enabled

    def update_features(self, request: UpdateFeaturesRequest, context: FeatureUpdateContext) -> FeatureUpdateDecision:
        """Decide on an update of levels.

        Errors, of a feature or of the whole: INVALID_UPDATE_VERSION for whatever cannot be; INVALID_REQUEST for a
        feature without a name or named twice.
        """
        requested = read_updates(request, context.api_version)
        updates = {update.name: update for update in requested}
        current = self._levels(context)
        wanted = {**current, **{update.name: update.level for update in updates.values()}}
        errors = {
            name: ApiError(ErrorCode.INVALID_REQUEST, _MALFORMED[fault].format(name))
            for name, fault in malformed(requested).items()
        }
        blockers: list[Blocker] = []
        left_behind: list[ReportedLoss] = []
        for name in map_order(list(updates)):
            if name not in errors:
                found = self._blockers(request, updates[name], current.get(name, 0), context)
                blockers += [blocker.reported() for blocker in found.found]
                left_behind += [blocker.left_behind() for blocker in found.left_behind]
                error = self._refusal(updates[name], current.get(name, 0), wanted, found, context)
                if error is not None:
                    errors[name] = error
        decision = FeatureUpdateDecision(
            request=request,
            api_version=context.api_version,
            is_together=self._settings.release.updates_features_together,
            errors=errors,
            blockers=tuple(blockers),
            left_behind=tuple(left_behind),
        )
        if decision.is_refused:
            return decision
        changed = [
            update
            for name, update in updates.items()
            if name not in errors and name != KRAFT_VERSION and update.level != current.get(name, 0)
        ]
        if KRAFT_VERSION in updates and KRAFT_VERSION not in errors:
            is_raised = self._raises_kraft_version(updates[KRAFT_VERSION], current.get(KRAFT_VERSION, 0))
            decision = replace(decision, is_kraft_version_raised=is_raised)
        return self._changed(decision, changed, current, wanted, context)

    def refused(self, request: UpdateFeaturesRequest, api_version: int, error: ApiError) -> FeatureUpdateDecision:
        """Return the decision that refuses every feature, without a look at any."""
        return FeatureUpdateDecision(
            request=request,
            api_version=api_version,
            is_together=self._settings.release.updates_features_together,
            errors={},
        ).refused(error)

    def _changed(
        self,
        decision: FeatureUpdateDecision,
        changed: list[FeatureUpdate],
        current: Mapping[str, int],
        wanted: Mapping[str, int],
        context: FeatureUpdateContext,
    ) -> FeatureUpdateDecision:
        """Decide on what servers support, and comes to another level."""
        assess = self._assess_at_once if context.assess is None else context.assess
        lowerings = lower_features(
            changed, wanted, self._state.image, self._settings.release, use=context.use, assess=assess
        )
        changed = [update for update in changed if update.name not in lowerings.errors]
        records = (*lowerings.records, *self._records(changed, current))
        transaction: tuple[VersionedRecord, ...] = ()
        if is_too_large(records):
            # Kafka refuses so many. All that lowers a level, or rests on that, stays in the batch that ends it all.
            begin = VersionedRecord(BeginTransactionRecord(name=_TRANSACTION), 0)
            transaction = (begin, *lowerings.records)
            records = (*self._records(changed, current), VersionedRecord(EndTransactionRecord(), 0))
            if is_too_large(records) or not self._state.metadata_version.metadata_transaction_supported:
                return decision.refused(BATCH_TOO_LARGE)
        return replace(
            decision,
            errors={**decision.errors, **lowerings.errors},
            records=records,
            transaction=transaction,
            blockers=(*decision.blockers, *(feature.reported() for feature in lowerings.incompatible)),
            inaccessible=tuple(lowerings.inaccessible),
            losses=tuple(lowerings.losses),
            cut_off=tuple(lowerings.cut_off),
            topics_to_survey=frozenset(lowerings.topics_to_survey),
            levels={update.name: update.level for update in changed},
            plan=lowerings.plan,
            prepared=lowerings.prepared,
            needs_undo_bundle=bool(lowerings.losses) or _lowers_metadata_version(changed, current),
        )

    def _assess_at_once(self, plan: LoweringPlan) -> AssessedLowering:
        work = LoweringWork(plan, self._state)
        exhaust(work.settle())
        return work.assessed()

    def _levels(self, context: FeatureUpdateContext) -> dict[str, int]:
        levels = self._state.image.features.levels(kraft_version=context.kraft_version)
        return {METADATA_VERSION: self._state.metadata_version.level, **levels}

    def _blockers(
        self, request: UpdateFeaturesRequest, update: FeatureUpdate, current: int, context: FeatureUpdateContext
    ) -> Blockers:
        is_lowered = update.level < current
        need = Need(
            feature=update.name,
            level=update.level,
            is_lowered=is_lowered,
            lowers_metadata=is_lowered and update.name == METADATA_VERSION and update.is_downgrade,
            allows_forced_snapshot=allows_forced_snapshot(request.unknown_tagged_fields),
        )
        return find_blockers(need, self._state.image, self._settings, context)

    def _refusal(
        self,
        update: FeatureUpdate,
        current: int,
        wanted: Mapping[str, int],
        blockers: Blockers,
        context: FeatureUpdateContext,
    ) -> ApiError | None:
        if _is_below_floor(update, current) and not blockers.is_everyone:
            # No server can help it, so none is named.
            below = f"Unable to set a metadata.version less than {FLOOR}"
            return refused_lowering(self._settings.release, current, update.level, below)
        reason = (
            _reason_malformed(update)
            or (blockers.text if blockers.found else None)
            or _MISDIRECTED.get(direction_fault(update, current))
        )
        if reason is not None:
            return refused_update(update, reason)
        if update.name == METADATA_VERSION:
            reason = self._reason_not_now(update)
            return None if reason is None else ApiError(ErrorCode.INVALID_UPDATE_VERSION, reason)
        if update.name == KRAFT_VERSION and update.level > current:
            reason = context.kraft_version_refusal if self._raises_kraft_version(update, current) else None
            return None if reason is None else ApiError(ErrorCode.INVALID_UPDATE_VERSION, reason)
        if update.name == KRAFT_VERSION:
            reason = "Can't downgrade the version of this feature." if update.level < current else None
        else:
            reason = self._reason_dependency_unmet(update, wanted)
        return None if reason is None else refused_update(update, reason)

    def _reason_not_now(self, update: FeatureUpdate) -> str | None:
        """Return why metadata.version cannot change at all for now; None if it can."""
        migration = self._state.image.features.zk_migration_state
        if self._settings.release.has_zookeeper and migration in _ZK_MIGRATION_IN_PROGRESS:
            reason = "Unable to modify metadata.version while a ZK migration is in progress."
            return f"Invalid metadata.version {update.level}. {reason}"
        return None

    def _raises_kraft_version(self, update: FeatureUpdate, current: int) -> bool:
        """Return whether the quorum is to raise kraft.version.

        Before 4.1 Kafka accepts a higher level and does nothing: its tool sends it with every release's levels.
        """
        return self._settings.release.updates_kraft_version and update.level > current

    def _reason_dependency_unmet(self, update: FeatureUpdate, wanted: Mapping[str, int]) -> str | None:
        """Return which other feature must have a higher level than it will have; None if all dependencies hold."""
        release = self._settings.release
        if not release.updates_features_together:
            return None
        feature = release.features.get(update.name)
        if feature is None:
            return f"Feature {update.name} not found."
        for name, level in feature.level(update.level).dependencies.items():
            if wanted.get(name, 0) < level:
                return f"{update.name} could not be set to {update.level} because it depends on {name} level {level}"
        return None

    def _records(self, changed: Iterable[FeatureUpdate], current: Mapping[str, int]) -> Iterable[VersionedRecord]:
        """Return the records: metadata.version before all others if it rises, for they may rest on it, else last."""

        def place(update: FeatureUpdate) -> int:
            if update.name != METADATA_VERSION:
                return 0
            return -1 if update.level > current[METADATA_VERSION] else 1

        for update in sorted(changed, key=place):
            if update.name == ELIGIBLE_LEADER_REPLICAS_VERSION and update.level > 0:
                yield from self._configs.elr_safety_records()
            yield VersionedRecord(FeatureLevelRecord(update.name, update.level), 0)


def _lowers_metadata_version(changed: Iterable[FeatureUpdate], current: Mapping[str, int]) -> bool:
    return any(update.name == METADATA_VERSION and update.level < current[METADATA_VERSION] for update in changed)


def _is_below_floor(update: FeatureUpdate, current: int) -> bool:
    return update.name == METADATA_VERSION and update.is_downgrade and 0 <= update.level < min(FLOOR.level, current)


def _reason_malformed(update: FeatureUpdate) -> str | None:
    if update.upgrade_type is None:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    return None
