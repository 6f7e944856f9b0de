"""Servers that stand in the way of a feature's level: what each supports, and what to do about it.

All of them are found at once, ghosts too: brokers that are still registered, and gone for long.
Source: KIP-584 (all brokers), KIP-778 (a majority of the voters), KIP-1155 (all of them, to lower metadata.version).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.controller.features.downgrade_support import (
    can_commit_by_snapshot,
    can_commit_lowering,
    supports_downgrade,
)
from falkirk.metadata.levels.feature_rules import unsupported_clause
from falkirk.metadata.requests.bounded_text import bounded_text
from falkirk.versions.features import FALKIRK_DOWNGRADE, is_supported
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.metadata.controller.features.feature_update import FeatureUpdateContext
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.metadata.image.cluster import ClusterImage
    from falkirk.metadata.image.metadata_image import MetadataImage

BROKER: Final = "broker"
CONTROLLER: Final = "controller"
# They say what servers can do, and have no level of the cluster.
_NEVER_FINALIZED: Final = frozenset({FALKIRK_DOWNGRADE})
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBlocker:
    """One server that cannot have a feature at a level, or nobody knows whether it can.

    `supported`: None if it does not know the feature. `silent_ms`: how long nothing was heard of a fenced broker;
    `is_silent_since_activation`: at least so long, for the controller has not heard of it at all.
    """

    feature: str
    level: int
    node_id: int
    role: str
    kind: BlockerKind
    supported: SupportedRange | None = None
    is_local: bool = False
    is_fenced: bool = False
    silent_ms: int | None = None
    is_silent_since_activation: bool = False

    @property
    def clause(self) -> str:
        """The reason, without a full stop."""
        if self.kind is BlockerKind.UNREGISTERED:
            return f"controller {self.node_id} has not registered, and may not support this feature"
        server = f"{'Local controller' if self.is_local else self.role.capitalize()} {self.node_id}"
        if self.kind is BlockerKind.CANNOT_LOWER:
            return f"{server} does not support lowering metadata.version"
        return unsupported_clause(server, self.supported)

    @property
    def sentence(self) -> str:
        """The reason in Kafka's words, which have a full stop only where no level is supported."""
        has_stop = self.kind is BlockerKind.UNSUPPORTED and (self.supported is None or self.supported.highest == 0)
        return f"{self.clause}." if has_stop else self.clause

    @property
    def remedy(self) -> str:
        """What the operator can do about it."""
        if self.kind is BlockerKind.UNREGISTERED:
            return "start it, or take it out of the quorum"
        install = f"run it as a release that supports {self.feature} {self.level}"
        if self.kind is BlockerKind.CANNOT_LOWER:
            install = f"run it with {FALKIRK_DOWNGRADE} 1, or allow the forced snapshot"
        if not self.is_fenced:
            return install
        return f"{install}, or take it out with kafka-cluster unregister --id {self.node_id}"

    @property
    def text(self) -> str:
        """The reason and the remedy, with the time since the last contact."""
        return f"{self.clause}{self._silence}: {self.remedy}."

    def reported(self) -> Blocker:
        """Return the blocker as front ends report it."""
        return Blocker(
            kind=self.kind,
            fields={
                "feature": self.feature,
                "level": self.level,
                "node_id": self.node_id,
                "role": self.role,
                "reason": self.kind.value,
                "supported": None if self.supported is None else [self.supported.lowest, self.supported.highest],
                "fenced": self.is_fenced,
                "silent_ms": self.silent_ms,
                "detail": self.sentence,
                "remedy": self.remedy,
            },
            text=self.text,
        )

    def left_behind(self) -> ReportedLoss:
        """Return a stopped voter that a raised level leaves behind."""
        supported = None if self.supported is None else [self.supported.lowest, self.supported.highest]
        key = f"controller {self.node_id}"
        fate = f"it ends when it comes back, until it runs as a release that supports {self.feature} {self.level}"
        return ReportedLoss(
            kind="stopped_voter",
            key=key,
            key_fields={"node_id": self.node_id},
            record="RegisterControllerRecord",
            offset=None,
            source=None,
            before={self.feature: supported},
            after={self.feature: supported},
            detail=f"{unsupported_clause(f'{key} is stopped and', self.supported)}: {fate}",
        )

    @property
    def _silence(self) -> str:
        if self.silent_ms is None:
            return ""
        at_least = "at least " if self.is_silent_since_activation else ""
        return f" (fenced, not heard of for {at_least}{duration_text(self.silent_ms)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A requirement on servers: support of a feature at a level; on all servers if it `is_lowered` to that level.

    `lowers_metadata`: they must follow a lowering of metadata.version, or load a `forced_snapshot` if that is allowed.
    """

    feature: str
    level: int
    is_lowered: bool = False
    lowers_metadata: bool = False
    allows_forced_snapshot: bool = False


@dataclass(frozen=True, slots=True)
class Blockers:
    """All that are in the way of one feature's level; `is_everyone`: no server that is known supports it.

    `left_behind`: stopped voters that do not support the level and are not in the way.
    """

    found: tuple[ServerBlocker, ...] = ()
    is_everyone: bool = False
    left_behind: tuple[ServerBlocker, ...] = ()

    @property
    def text(self) -> str:
        """Name them all; a level that nobody supports is told in one sentence."""
        if self.is_everyone:
            return self.found[0].sentence
        return bounded_text([blocker.text for blocker in self.found], " ")


def find_blockers(
    need: Need, image: MetadataImage, settings: ControllerSettings, context: FeatureUpdateContext
) -> Blockers:
    """Return the servers that cannot do what is needed: this controller, brokers by id, controllers by id.

    A voter that has not registered is one if a level is lowered, or if without it no majority is known to support
    the level. So is a voter that is stopped and does not support it (KIP-778 asks for a majority).
    Below 3.7-IV0 controllers do not register, so nothing is known of others.
    """
    return _Search(need, image, settings, context).blockers()


def duration_text(duration_ms: int) -> str:
    """Return a duration in its largest unit and the next one down if it is not zero: `3 d 4 h`, `12 min`, `9 s`."""
    rest = duration_ms // 1000
    parts = []
    for unit, seconds in _UNITS:
        number, rest = divmod(rest, seconds)
        if number:
            parts.append(f"{number} {unit}")
        elif parts:
            break
    return " ".join(parts[:2]) or "less than a second"


@dataclass(frozen=True, slots=True)
class _Search:
    """What is needed, and of whom."""

    need: Need
    image: "MetadataImage"
    settings: "ControllerSettings"
    context: "FeatureUpdateContext"

    def blockers(self) -> Blockers:
        servers = list(self._servers())
        unsupporting = [server for server in servers if not _supports(self.need, server.supported)]
        is_everyone = len(unsupporting) == len(servers)
        is_majority_capable = self._is_majority_capable(unsupporting)
        left_behind = self._left_behind(unsupporting) if is_majority_capable else []
        in_the_way = [server for server in unsupporting if server not in left_behind]
        found = [*in_the_way, *self._unfollowing(servers)]
        at = self.image.features.metadata_version
        is_known = at is not None and at.controller_registration_supported
        if is_known and (self.need.is_lowered or not is_majority_capable):
            found += self._unregistered()
        return Blockers(tuple(found), is_everyone, tuple(left_behind))

    def _servers(self) -> Iterator[ServerBlocker]:
        """Yield every known server with its supported range of the feature."""
        name, settings, context, cluster = self.need.feature, self.settings, self.context, self.image.cluster
        own = None if name in _NEVER_FINALIZED else settings.supported_features.get(name)
        unsupported = partial(ServerBlocker, feature=name, level=self.need.level, kind=BlockerKind.UNSUPPORTED)
        yield unsupported(node_id=settings.node_id, role=CONTROLLER, supported=own, is_local=True)
        for broker_id, broker in sorted(cluster.brokers.items()):
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
        for controller_id, controller in sorted(cluster.controllers.items()):
            if controller_id != settings.node_id:
                supported = _supported(controller.features, name)
                yield unsupported(node_id=controller_id, role=CONTROLLER, supported=supported)

    def _unregistered(self) -> list[ServerBlocker]:
        unknown = sorted(self.context.voters - {self.settings.node_id, *self.image.cluster.controllers})
        need = self.need
        unregistered = partial(ServerBlocker, feature=need.feature, level=need.level, kind=BlockerKind.UNREGISTERED)
        return [unregistered(node_id=voter, role=CONTROLLER) for voter in unknown]

    def _left_behind(self, unsupporting: Iterable[ServerBlocker]) -> list[ServerBlocker]:
        """Return the stopped voters that a level is raised over, given that a majority supports it without them."""
        silent = self.context.silent_voters
        if self.need.is_lowered:
            return []
        return [server for server in unsupporting if server.role == CONTROLLER and server.node_id in silent]

    def _is_majority_capable(self, unsupporting: Iterable[ServerBlocker]) -> bool:
        """Return whether a majority of the voters is known to support the level."""
        known = self.context.voters & {self.settings.node_id, *self.image.cluster.controllers}
        incapable = {blocker.node_id for blocker in unsupporting if blocker.role == CONTROLLER}
        return 2 * len(known - incapable) > len(self.context.voters)

    def _unfollowing(self, servers: Iterable[ServerBlocker]) -> list[ServerBlocker]:
        """Return the servers that cannot follow a lowering of metadata.version.

        Servers of Kafka load the forced snapshot if the operator allows it: brokers always, standby controllers as
        long as the voters that follow can commit, as a majority or by the snapshot, since the others never receive
        the records.
        """
        need, context, settings = self.need, self.context, self.settings
        if not need.lowers_metadata:
            return []
        own_support = {settings.node_id: FALKIRK_DOWNGRADE in settings.supported_features}
        support = {**context.lowering_support, **own_support}
        voters_commit = can_commit_lowering(context.voters, support)
        takes_snapshot = voters_commit or can_commit_by_snapshot(context.voters, support)
        silent = context.voters - support.keys()
        return [
            replace(server, kind=BlockerKind.CANNOT_LOWER)
            for server in servers
            if not _follows(
                server, self.image.cluster, support, has_to_fetch=not voters_commit and server.node_id in silent
            )
            and not (need.allows_forced_snapshot and not server.is_local and (server.role == BROKER or takes_snapshot))
        ]


def _follows(server: ServerBlocker, cluster: ClusterImage, support: Mapping[int, bool], *, has_to_fetch: bool) -> bool:
    """Return whether a server follows, by its fetches if it is a voter, else by its registration.

    `has_to_fetch`: it is a voter that is silent, and without it the lowering cannot be committed.
    """
    if server.is_local or (server.role == CONTROLLER and server.node_id in support):
        # Another process may have taken its place and disk, and not have registered yet.
        return support[server.node_id]
    if server.role == CONTROLLER and has_to_fetch:
        return False
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
