"""Inputs of a decision on UpdateFeatures besides the metadata, and its response in each version.

Source: KIP-584, KIP-778; answers of real controllers of 3.7 to 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import FeatureUpdateDetails, encode_details
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import UpdateFeaturesResponse
from falkirk.protocol.messages.update_features_response import UpdatableFeatureResult
from falkirk.slices import VISITS_PER_REPORT, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from typing import TypeAlias

    from falkirk.ledger.findings import Blocker
    from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
    from falkirk.metadata.controller.features.lowering_work import AssessedLowering, LoweringPlan
    from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
    from falkirk.metadata.levels.feature_rules import FeatureUpdate
    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.records.batch import VersionedRecord
    from falkirk.protocol.messages import UpdateFeaturesRequest
    from falkirk.slices import Slices

    Assess: TypeAlias = Callable[[LoweringPlan], AssessedLowering | None]

_RESULTS_UP_TO: Final = 1
_FAILED_TOGETHER: Final = "The update failed for all features since the following feature had an error: "
_NO_ERROR: Final = ApiError(ErrorCode.NONE)
# As many as an operator may want to work through; a cluster can lose something of each of a million partitions.
_ITEMS_MAX: Final = 1000
_NO_DETAILS: Final = FeatureUpdateDetails()


def refused_update(
    update: FeatureUpdate, reason: str, error_code: ErrorCode = ErrorCode.INVALID_UPDATE_VERSION
) -> ApiError:
    """Refuse an update, in Kafka's words."""
    return ApiError(error_code, f"Invalid update version {update.level} for feature {update.name}. {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdateContext:
    """Inputs of the decision besides the metadata.

    `voters`: ids of the quorum's voters. `lowering_support`: whether another voter follows a lowering of
    metadata.version, by id, for those that have fetched lately. `last_contact_ms`: time of the last contact by broker
    id, as far as this controller knows; `active_since_ms`: since when it is active.
    """

    api_version: int
    kraft_version: int
    voters: "AbstractSet[int]"
    now_ms: int
    lowering_support: "Mapping[int, bool]" = field(default_factory=dict)
    # Voters that have not fetched for a while.
    silent_voters: "AbstractSet[int]" = frozenset()
    last_contact_ms: "Mapping[int, int]" = field(default_factory=dict)
    active_since_ms: int = 0
    # Why the quorum cannot raise kraft.version; None: it can.
    kraft_version_refusal: str | None = None
    # What coordinators have in use; None: nobody has looked yet.
    use: "CoordinatorUse | None" = None
    # What is worked out of a lowering over many steps, None as long as it is not; without it all is done at once.
    assess: "Assess | None" = None


class ReportedLosses(NamedTuple):
    """Losses, and the JSON objects of as many as are reported."""

    losses: "tuple[Loss, ...]"
    items: list[dict[str, Any]]  # Any: JSON values


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureUpdateDecision:
    """Records to append and the response. `errors`: by feature, in Kafka's order."""

    request: "UpdateFeaturesRequest"
    api_version: int
    # Whether the update is made as a whole or not at all.
    is_together: bool
    errors: "Mapping[str, ApiError]"
    records: "tuple[VersionedRecord, ...]" = ()
    # What goes before them in a metadata transaction that they end; see ControllerResult.
    transaction: "tuple[VersionedRecord, ...]" = ()
    # What is in the way, and what goes on to exist without effect.
    blockers: "tuple[Blocker, ...]" = ()
    # Stopped voters that do not support a level and are not in its way.
    left_behind: tuple[ReportedLoss, ...] = ()
    inaccessible: "tuple[Loss | ReportedLoss, ...]" = ()
    # What goes with the records, and the level that each changed feature has afterwards.
    losses: "tuple[Loss, ...]" = ()
    levels: "Mapping[str, int]" = field(default_factory=dict)
    # Whether the quorum is to raise kraft.version, whose records are raft's.
    is_kraft_version_raised: bool = False
    # An undo takes what was there before: metadata.version falls, or something else is lost.
    needs_undo_bundle: bool = False
    # Where that was written.
    undo_bundle: str | None = None
    # What coordinators lose.
    cut_off: tuple[ReportedLoss, ...] = ()
    # What nobody has looked into yet.
    topics_to_survey: frozenset[str] = frozenset()
    # What must be assessed before anything is decided.
    plan: "LoweringPlan | None" = None
    prepared: "PreparedLowering | None" = None
    # The losses of an earlier decision as they are reported.
    reported: ReportedLosses | None = None

    @property
    def is_refused(self) -> bool:
        """Return whether nothing is to be changed because of an error."""
        return bool(self.errors) and (self.is_together or len(self.errors) == len(self.request.feature_updates))

    @property
    def needs_survey(self) -> bool:
        """Return whether nothing can be decided before somebody has looked into the coordinators' topics."""
        return bool(self.topics_to_survey) and not self.is_refused

    @property
    def details(self) -> FeatureUpdateDetails:
        """Return what the update loses and what is in its way as JSON; what is beyond a bound is counted."""
        known = self.reported
        losses = known.items if known is not None and known.losses == self.losses else _bounded(self.losses)
        return FeatureUpdateDetails(
            losses=[*losses, *_bounded(self.cut_off)],
            inaccessible=_bounded((*self.inaccessible, *self.left_behind)),
            blockers=[
                {"kind": blocker.kind.value, "text": blocker.text, **blocker.fields}
                for blocker in self.blockers[:_ITEMS_MAX]
            ],
            undo_bundle=self.undo_bundle,
        )

    @property
    def is_made(self) -> bool:
        """Return whether records are to be appended."""
        return self._is_kept and (bool(self.records) or self.is_kraft_version_raised)

    def result(self) -> ControllerResult[UpdateFeaturesResponse]:
        """Return the records, none for a dry run, and the answer that goes with them."""
        response = self._together() if self.is_together else self._each()
        details = self.details
        if details != _NO_DETAILS:
            response.unknown_tagged_fields = encode_details(details)
        if not self._is_kept:
            return ControllerResult((), response)
        return ControllerResult(self.records, response, transaction=self.transaction, prepared=self.prepared)

    def refused(self, error: ApiError, blockers: tuple[Blocker, ...] = ()) -> FeatureUpdateDecision:
        """Return the decision that refuses every feature; `blockers`: more that is in the way."""
        names = dict.fromkeys(each.feature for each in self.request.feature_updates)
        return replace(
            self,
            errors=dict.fromkeys(names, error),
            records=(),
            transaction=(),
            blockers=(*self.blockers, *blockers),
            needs_undo_bundle=False,
        )

    def report_losses(self) -> Slices[ReportedLosses]:
        """Return the losses as `details` has them, in slices of bounded size."""
        items, budget = [], SliceBudget()
        for loss in self.losses[:_ITEMS_MAX]:
            items.append(_json(loss))
            if budget.spend(VISITS_PER_REPORT):
                yield
        return ReportedLosses(self.losses, [*items, *_more(len(self.losses) - len(items))])

    def with_undo_bundle(self, path: str, reported: ReportedLosses) -> FeatureUpdateDecision:
        """Return the decision that tells where the undo bundle is, with losses that may be reported already."""
        return replace(self, undo_bundle=path, reported=reported)

    @property
    def _is_kept(self) -> bool:
        return not self.request.validate_only and not (self.is_together and self.errors)

    def _together(self) -> UpdateFeaturesResponse:
        for error in self.errors.values():
            return UpdateFeaturesResponse(
                error_code=error.error_code, error_message=f"{_FAILED_TOGETHER}{error.message}"
            )
        response = UpdateFeaturesResponse(error_message=None)
        if self.api_version <= _RESULTS_UP_TO:
            # The message is the error's name, as in Kafka.
            names = [each.feature for each in self.request.feature_updates]
            response.results = [UpdatableFeatureResult(name, 0, ErrorCode.NONE.name) for name in names]
        return response

    def _each(self) -> UpdateFeaturesResponse:
        names = [name for name, _ in groupby(sorted(each.feature for each in self.request.feature_updates))]
        return UpdateFeaturesResponse(results=mapped_array(self._result_of, names))

    def _result_of(self, name: str) -> UpdatableFeatureResult:
        error = self.errors.get(name, _NO_ERROR)
        return UpdatableFeatureResult(name, error.error_code, error.message)


def _bounded(items: Sequence[Loss | ReportedLoss]) -> list[dict[str, Any]]:  # Any: JSON values
    kept = [_json(item) for item in items[:_ITEMS_MAX]]
    return [*kept, *_more(len(items) - len(kept))]


def _json(item: Loss | ReportedLoss) -> dict[str, Any]:  # Any: JSON values
    return (item if isinstance(item, ReportedLoss) else item.reported()).as_json()


def _more(count: int) -> list[dict[str, Any]]:  # Any: JSON values
    return [{"kind": "more", "key": "", "detail": f"and {count} more", "count": count}] if count else []
