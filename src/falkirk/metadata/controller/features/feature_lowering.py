"""Lowering features: the records that go first, the losses, and whether SAFE may go on.

Real Kafka compares pairs of metadata.versions alone; here the image decides. Source: KIP-1155, "Lossy versus
lossless downgrades"; KIP-966 for eligible leader replicas.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from immutables import Map

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.controller.features.coordinator_use import topics_to_survey
from falkirk.metadata.controller.features.feature_update import refused_update
from falkirk.metadata.controller.features.lowering_work import LoweringPlan
from falkirk.metadata.image.features import FeaturesImage
from falkirk.metadata.levels.feature_levels import FeatureTarget, reason_not_kept
from falkirk.metadata.records.record_key import feature_key
from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.requests.bounded_text import bounded_text
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
    from falkirk.metadata.controller.features.lowering_work import AssessedLowering
    from falkirk.metadata.controller.state.prepared_lowering import PreparedLowering
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.levels.feature_rules import FeatureUpdate
    from falkirk.metadata.levels.writer import LossReport
    from falkirk.metadata.losses.loss import Loss
    from falkirk.metadata.records.batch import VersionedRecord

_MIGHT_DELETE: Final = "Refusing to perform the requested downgrade because it might delete metadata information."
_REMEDY: Final = "lower it in the same update, or before"


class IncompatibleFeature(NamedTuple):
    """A finalized feature that a lower metadata.version has no place for.

    `is_dependent`: it needs a higher one. Else only the release of that metadata.version does not support it, which
    does not matter as long as the nodes stay on theirs.
    """

    name: str
    level: int
    why: str
    is_dependent: bool

    def __str__(self) -> str:
        """Return the form `group.version 1 (release 3.9.1 does not know it)`."""
        return f"{self.name} {self.level} ({self.why})"

    def reported(self) -> Blocker:
        """Return the feature as front ends report what is in the way."""
        return Blocker(
            kind=BlockerKind.INCOMPATIBLE_FEATURE,
            fields={
                "feature": METADATA_VERSION,
                "reason": BlockerKind.INCOMPATIBLE_FEATURE.value,
                "incompatible_feature": self.name,
                "incompatible_level": self.level,
                "detail": str(self),
                "remedy": _REMEDY,
            },
            text=f"{self}: {_REMEDY}",
        )

    def kept(self) -> ReportedLoss:
        """Return the feature as something that stays and has no place."""
        key, level = feature_key(self.name), {"feature_level": self.level}
        return ReportedLoss(
            kind="feature_kept",
            key=key.text(),
            key_fields=key.fields(),
            record="FeatureLevelRecord",
            offset=None,
            source=None,
            before=level,
            after=level,
            detail=f"{self} stays: lower it before a node becomes one of that release",
        )


@dataclass(slots=True, kw_only=True)
class Lowerings:
    """The effects of lowering some features. `records` precede those that set the levels."""

    errors: dict[str, ApiError] = field(default_factory=dict)
    records: "list[VersionedRecord]" = field(default_factory=list)
    losses: "list[Loss]" = field(default_factory=list)
    inaccessible: "list[Loss | ReportedLoss]" = field(default_factory=list)
    incompatible: list[IncompatibleFeature] = field(default_factory=list)
    # What coordinators have in use and lose, and the topics that nobody has looked into yet.
    cut_off: list[ReportedLoss] = field(default_factory=list)
    topics_to_survey: set[str] = field(default_factory=set)
    # What must be assessed before anything else is known.
    plan: LoweringPlan | None = None
    prepared: "PreparedLowering | None" = None


def lower_features(
    changed: Iterable[FeatureUpdate],
    wanted: Mapping[str, int],
    image: MetadataImage,
    release: Release,
    *,
    use: CoordinatorUse | None,
    assess: Callable[[LoweringPlan], AssessedLowering | None],
) -> Lowerings:
    """Decide on the lowering of features that all servers support, of which `changed` are the updates that change one.

    `wanted`: all levels as they will be, kraft.version too. `release`: this server's, for the words. `use`: what
    coordinators have in use, None if nobody has looked. `assess` returns None if that is still to be worked out.
    """
    lowerings = Lowerings()
    updates = {update.name: update for update in changed}
    elr = updates.pop(ELIGIBLE_LEADER_REPLICAS_VERSION, None)
    for name, update in updates.items():
        if update.level < image.features.finalized.get(name, 0):
            _look_at_use(update, use, image, lowerings)
    metadata_version, to = updates.get(METADATA_VERSION), None
    at = image.features.metadata_version
    if metadata_version is not None and at is not None and metadata_version.level < at.level:
        to = MetadataVersion.of_level(metadata_version.level)
        assert to >= FLOOR, "refused before"
        if not _has_place(metadata_version, at, wanted, release, lowerings):
            to = None
    scrubs_elr = elr is not None and elr.level == 0
    if not scrubs_elr and to is None:
        return lowerings
    others = {name: level for name, level in wanted.items() if name != METADATA_VERSION}
    plan = LoweringPlan(scrubs_elr=scrubs_elr, to=to, others=others)
    assessed = assess(plan)
    if assessed is None:
        lowerings.plan = plan
        return lowerings
    if elr is not None and scrubs_elr:
        _scrub_eligible_leader_replicas(elr, assessed, lowerings)
    if metadata_version is not None and to is not None and at is not None:
        _lower_metadata_version(metadata_version, at, assessed.report, release, lowerings)
    if lowerings.errors.keys().isdisjoint((ELIGIBLE_LEADER_REPLICAS_VERSION, METADATA_VERSION)):
        lowerings.prepared = assessed.prepared
    return lowerings


def refused_lowering(release: Release, current: int, level: int, reason: str) -> ApiError:
    """Refuse to lower metadata.version, in the words of a release."""
    if release.names_both_levels:
        message = f"Unsupported metadata.version downgrade from {current} to {level}. {reason}"
    else:
        message = f"Invalid metadata.version {level}. {reason}"
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _scrub_eligible_leader_replicas(update: FeatureUpdate, assessed: AssessedLowering, lowerings: Lowerings) -> None:
    losses = assessed.elr_losses
    lowerings.losses += losses
    if update.upgrade_type is not UpgradeType.UNSAFE_DOWNGRADE and any(not loss.row.isr for loss in losses):
        stopped = [loss for loss in losses if not loss.row.isr]
        reason = (
            "Refusing to perform the requested downgrade because these partitions have eligible leader replicas in "
            f"place of in-sync ones: {bounded_text(stopped, ', ', attrgetter('key_text'))}"
        )
        lowerings.errors[update.name] = refused_update(update, reason)
    else:
        lowerings.records += assessed.records


def _look_at_use(update: FeatureUpdate, use: CoordinatorUse | None, image: MetadataImage, lowerings: Lowerings) -> None:
    """Find what a coordinator would lose. Nothing is changed there: what is cut off stays, and counts again later."""
    topics = [topic for topic in topics_to_survey(update.name, update.level) if image.topics.topic(topic) is not None]
    if not topics:
        return
    if use is None:
        lowerings.topics_to_survey.update(topics)
        return
    found = use.cut_off(update.name)
    unread = [partition for partition in use.unread if partition.topic in topics]
    lowerings.cut_off += [*found, *(partition.reported() for partition in unread)]
    if update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
        return
    if found:
        details = bounded_text([loss.detail for loss in found], "; ")
        reason = f"Refusing to perform the requested downgrade because it would cut off what is in use: {details}"
        lowerings.errors[update.name] = refused_update(update, reason)
    elif unread:
        names = bounded_text([str(partition) for partition in unread], "; ")
        reason = f"Nobody knows what it would cut off, for this cannot be read: {names}"
        lowerings.errors[update.name] = refused_update(update, reason, ErrorCode.FEATURE_UPDATE_FAILED)


def _has_place(
    update: FeatureUpdate, at: MetadataVersion, wanted: Mapping[str, int], release: Release, lowerings: Lowerings
) -> bool:
    """Return whether metadata.version may go without the other features; refuse it if it may not.

    UNSAFE goes on where no feature needs a higher one: the nodes may stay on a release that supports them (KIP-1155).
    """
    found = _incompatible_features(wanted, MetadataVersion.of_level(update.level))
    if update.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE:
        lowerings.inaccessible += [feature.kept() for feature in found if not feature.is_dependent]
        found = [feature for feature in found if feature.is_dependent]
    lowerings.incompatible += found
    if found:
        remedy = _REMEDY if any(feature.is_dependent for feature in found) else f"{_REMEDY}, or go on with UNSAFE"
        reason = f"What is finalized has no place there, {remedy}: {', '.join(map(str, found))}."
        lowerings.errors[METADATA_VERSION] = refused_lowering(release, at.level, update.level, reason)
    return not found


def _lower_metadata_version(
    update: FeatureUpdate, at: MetadataVersion, report: LossReport, release: Release, lowerings: Lowerings
) -> None:
    """Decide on metadata.version, with what is lost when all else is done."""
    lowerings.losses += report.losses
    lowerings.inaccessible += report.inaccessible
    if report.losses and update.upgrade_type is not UpgradeType.UNSAFE_DOWNGRADE:
        details = bounded_text(report.losses, "; ", attrgetter("detail"))
        reason = f"{_MIGHT_DELETE} It would lose: {details}"
        lowerings.errors[METADATA_VERSION] = refused_lowering(release, at.level, update.level, reason)


def _incompatible_features(wanted: Mapping[str, int], to: MetadataVersion) -> list[IncompatibleFeature]:
    """Return the features that need a higher metadata.version, and those that its own release does not support.

    A controller of that release would not start with them.
    """
    others = {name: level for name, level in wanted.items() if name != METADATA_VERSION and level > 0}
    at_any_release = FeatureTarget(metadata_version=to, bootstrap_levels_bind=False)
    at_its_own = replace(at_any_release, release=Release.parse(to.release))
    features = FeaturesImage(finalized=Map(others))
    found = []
    for name, level in sorted(others.items()):
        dependency = reason_not_kept(features, name, level, at_any_release)
        reason = dependency or reason_not_kept(features, name, level, at_its_own)
        if reason is not None:
            found.append(IncompatibleFeature(name, level, reason, is_dependent=dependency is not None))
    return found
