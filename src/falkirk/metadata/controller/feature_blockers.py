"""Servers that stand in the way of a feature's level: what each supports, and what to do about it.

All of them are found at once, ghosts too: brokers that are still registered, and gone for long.
Source: KIP-584 (all brokers), KIP-778 (a majority of the voters), KIP-1155 (all of them, to lower metadata.version).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.bounded_text import bounded_text
from falkirk.metadata.controller.downgrade_support import can_commit_lowering, supports_downgrade
from falkirk.metadata.feature_rules import unsupported_sentence
from falkirk.versions.features import FALKIRK_DOWNGRADE, is_supported
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.metadata.controller.feature_update import FeatureUpdateContext
    from falkirk.metadata.controller.settings import ControllerSettings
    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage


class BlockerReason(enum.Enum):
    """Why a server is in the way. The values are the words of JSON."""

    UNSUPPORTED = "unsupported"
    UNREGISTERED = "unregistered"
    CANNOT_LOWER = "cannot-lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One server that cannot have a feature at a level, or nobody knows whether it can.

    `supported`: None if it does not know the feature. `silent_ms`: how long nothing was heard of a fenced broker;
    `is_silent_since_activation`: at least so long, for the controller has not heard of it at all.
    """

    feature: str
    level: int
    node_id: int
    role: str
    reason: BlockerReason
    supported: SupportedRange | None = None
    is_local: bool = False
    is_fenced: bool = False
    silent_ms: int | None = None
    is_silent_since_activation: bool = False

    @property
    def sentence(self) -> str:
        """Say in Kafka's words what is in the way."""
        if self.reason is BlockerReason.UNREGISTERED:
            return f"controller {self.node_id} has not registered, and may not support this feature"
        who = f"{'Local controller' if self.is_local else self.role.capitalize()} {self.node_id}"
        if self.reason is BlockerReason.CANNOT_LOWER:
            return f"{who} does not support lowering metadata.version"
        return unsupported_sentence(who, self.supported)

    @property
    def remedy(self) -> str:
        """Say what to do about it."""
        if self.reason is BlockerReason.UNREGISTERED:
            return "start it, or take it out of the quorum"
        install = f"run it as a release that supports {self.feature} {self.level}"
        if self.reason is BlockerReason.CANNOT_LOWER:
            install = f"run it with {FALKIRK_DOWNGRADE} 1, or allow the forced snapshot"
        if not self.is_fenced:
            return install
        return f"{install}, or take it out with kafka-cluster unregister --id {self.node_id}"

    @property
    def text(self) -> str:
        """Say both, and how long nothing was heard of it."""
        return f"{self.sentence.removesuffix('.')}{self._silence}: {self.remedy}."

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Give the blocker as an object of the ledger."""
        return {
            "feature": self.feature,
            "level": self.level,
            "node_id": self.node_id,
            "role": self.role,
            "reason": self.reason.value,
            "supported": None if self.supported is None else [self.supported.lowest, self.supported.highest],
            "fenced": self.is_fenced,
            "silent_ms": self.silent_ms,
            "detail": self.sentence,
            "remedy": self.remedy,
        }

    @property
    def _silence(self) -> str:
        if self.silent_ms is None:
            return ""
        at_least = "at least " if self.is_silent_since_activation else ""
        return f" (fenced, not heard of for {at_least}{duration_text(self.silent_ms)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What servers must be able to: to run a feature at a level, and all of them if it `is_lowered` to that.

    `lowers_metadata`: they must follow a lowering of metadata.version, or take a `forced_snapshot` if that is allowed.
    """

    feature: str
    level: int
    is_lowered: bool = False
    lowers_metadata: bool = False
    allows_forced_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Blockers:
    """All that are in the way of one feature's level; `is_everyone`: no server that is known supports it."""

    found: tuple[Blocker, ...] = ()
    is_everyone: bool = False

    @property
    def text(self) -> str:
        """Name them all; a level that nobody supports is told in one sentence."""
        if self.is_everyone:
            return self.found[0].sentence
        return bounded_text([blocker.text for blocker in self.found], " ")


def find_blockers(
    need: Need, image: MetadataImage, settings: ControllerSettings, context: FeatureUpdateContext
) -> Blockers:
    """Give the servers that cannot do what is needed: this controller, brokers by id, controllers by id.

    A voter that has not registered is one if a level is lowered, or if without it no majority is known to support
    the level. Below 3.7-IV0 controllers do not register, so nothing is known of others.
    """
    servers = list(_servers(need, image, settings, context))
    unsupporting = [server for server in servers if not _supports(need, server.supported)]
    is_everyone = len(unsupporting) == len(servers)
    found = [*unsupporting, *_unfollowing(need, servers, image, settings, context)]
    at = image.features.metadata_version
    if at is not None and at.controller_registration_supported:
        found += _unregistered(need, unsupporting, image, settings, context)
    return Blockers(tuple(found), is_everyone)


def duration_text(duration_ms: int) -> str:
    """Say a duration in its largest unit, and the next where there is one: `3 d 4 h`, `12 min`, `9 s`."""
    rest = duration_ms // 1000
    parts = []
    for unit, seconds in _UNITS:
        number, rest = divmod(rest, seconds)
        if number:
            parts.append(f"{number} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a second"


def _servers(
    need: Need, image: MetadataImage, settings: ControllerSettings, context: FeatureUpdateContext
) -> Iterator[Blocker]:
    """Give every server that is known, with what it supports of a feature."""
    name = need.feature
    own = None if name in _NEVER_FINALIZED else settings.supported_features.get(name)
    unsupported = partial(Blocker, feature=name, level=need.level, reason=BlockerReason.UNSUPPORTED)
    yield unsupported(
        node_id=settings.node_id,
        role=CONTROLLER,
        supported=own,
        is_local=True,
    )
    for broker_id, broker in sorted(image.cluster.brokers.items()):
        contact_ms = context.last_contact_ms.get(broker_id)
        heard_ms = context.active_since_ms if contact_ms is None else contact_ms
        yield unsupported(
            node_id=broker_id,
            role=BROKER,
            supported=_supported(broker.features, name),
            is_fenced=broker.fenced,
            silent_ms=max(context.now_ms - heard_ms, 0) if broker.fenced else None,
            is_silent_since_activation=contact_ms is None,
        )
    for controller_id, controller in sorted(image.cluster.controllers.items()):
        if controller_id != settings.node_id:
            supported = _supported(controller.features, name)
            yield unsupported(node_id=controller_id, role=CONTROLLER, supported=supported)


def _unregistered(
    need: Need,
    unsupporting: Iterable[Blocker],
    image: MetadataImage,
    settings: ControllerSettings,
    context: FeatureUpdateContext,
) -> list[Blocker]:
    unknown = sorted(context.voters - {settings.node_id, *image.cluster.controllers})
    incapable = {blocker.node_id for blocker in unsupporting if blocker.role == CONTROLLER}
    capable_count = len(context.voters - incapable) - len(unknown)
    if not need.is_lowered and 2 * capable_count > len(context.voters):
        return []
    unregistered = partial(Blocker, feature=need.feature, level=need.level, reason=BlockerReason.UNREGISTERED)
    return [unregistered(node_id=voter, role=CONTROLLER) for voter in unknown]


def _unfollowing(
    need: Need,
    servers: Iterable[Blocker],
    image: MetadataImage,
    settings: ControllerSettings,
    context: FeatureUpdateContext,
) -> list[Blocker]:
    """Give those who would not follow when metadata.version is lowered.

    Servers of Kafka take the forced snapshot if the operator allows it: brokers, and standby controllers as long as
    those voters that follow are a majority, for the others are not shown the records that have to be committed.
    """
    if not need.lowers_metadata:
        return []
    cluster = image.cluster
    voters_commit = can_commit_lowering(cluster, context.voters)
    return [
        replace(server, reason=BlockerReason.CANNOT_LOWER)
        for server in servers
        if not _follows(server, cluster, settings)
        and not (need.allows_forced_snapshot and not server.is_local and (server.role == BROKER or voters_commit))
    ]


def _follows(server: Blocker, cluster: ClusterImage, settings: ControllerSettings) -> bool:
    if server.is_local:
        return FALKIRK_DOWNGRADE in settings.supported_features
    registered = cluster.brokers if server.role == BROKER else cluster.controllers
    return supports_downgrade(registered[server.node_id].features)


def _supported(features: Iterable[SupportedFeature], name: str) -> SupportedRange | None:
    known = next((feature for feature in features if feature.name == name), None)
    return (
        None
        if known is None or name in _NEVER_FINALIZED
        else SupportedRange(known.min_supported_version, known.max_supported_version)
    )


def _supports(need: Need, supported: SupportedRange | None) -> bool:
    if need.level == 0 and need.feature != METADATA_VERSION:
        # "Not enabled" is understood by everyone, also by brokers whose registration cannot say 0 (KAFKA-17492).
        return True
    return is_supported(need.level, supported)


BROKER: Final = "broker"
CONTROLLER: Final = "controller"
# They say what servers can do, and have no level of the cluster.
_NEVER_FINALIZED: Final = frozenset({FALKIRK_DOWNGRADE})
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
