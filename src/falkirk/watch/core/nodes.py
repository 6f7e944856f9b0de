"""Nodes of a cluster: what each supports, and how it differs from the others."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from falkirk.client.node_versions import NodeVersions
from falkirk.operations.lift_findings import level_name
from falkirk.versions.features import FALKIRK_DOWNGRADE, KRAFT_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.watch.core.findings import Drift, DriftKind, FeatureState, NodeState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.metadata.image.broker_registration import SupportedFeature
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.operations.lift_observation import Observation

STALE_MS: Final = 30_000
"""A node that has not applied what was in the log so long ago has a stale epoch."""
CLOCK_MS: Final = 30_000
"""Clocks that differ by more are reported."""
_ENDS_KEPT: Final = 256


class LogEnds:
    """Where the metadata log ended at which time, for the last minutes."""

    def __init__(self) -> None:
        self._ends: deque[tuple[int, int]] = deque(maxlen=_ENDS_KEPT)

    def add(self, now_ms: int, end_offset: int) -> None:
        """Note an end; one a second is kept."""
        if not self._ends or now_ms - self._ends[-1][0] >= 1000:
            self._ends.append((now_ms, end_offset))

    def before(self, time_ms: int) -> int | None:
        """Return the latest end that is known of a time or before; None if none is."""
        return next((end for at_ms, end in reversed(self._ends) if at_ms <= time_ms), None)


def node_states(image: MetadataImage | None, observation: Observation | None) -> tuple[NodeState, ...]:
    """Return all nodes that are registered or listed, by id."""
    brokers = {} if image is None else image.cluster.brokers
    controllers = {} if image is None else image.cluster.controllers
    listed = {} if observation is None else {node.node_id: node for node in observation.brokers}
    listening = {} if observation is None else {node.node_id: node for node in observation.controllers}
    voters = set() if observation is None or observation.quorum is None else set(observation.quorum.voters)
    answers = {} if observation is None else observation.answers
    found = []
    for node_id in sorted({*brokers, *controllers, *listed, *listening, *voters}):
        answer = answers.get(node_id)
        node = listed.get(node_id) or listening.get(node_id)
        roles = [("broker", node_id in brokers or node_id in listed)]
        roles += [("controller", node_id in controllers or node_id in listening or node_id in voters)]
        versions = answer if isinstance(answer, NodeVersions) else None
        registered = brokers.get(node_id) or controllers.get(node_id)
        found.append(
            NodeState(
                node_id=node_id,
                roles=tuple(role for role, holds in roles if holds),
                endpoint=None if node is None else str(node.endpoint),
                answers=None if answer is None else versions is not None,
                reason=None if answer is None or versions is not None else str(answer),
                is_fenced=node_id in brokers and brokers[node_id].fenced,
                supported=_registered(() if registered is None else registered.features)
                if versions is None
                else {name: (each.lowest, each.highest) for name, each in versions.supported_features.items()},
                finalized={}
                if versions is None
                else {name: each.max_version_level for name, each in versions.finalized_features.items()},
                finalized_epoch=None if versions is None else versions.finalized_features_epoch,
            )
        )
    return tuple(found)


def feature_states(image: MetadataImage, kraft_version: int) -> tuple[FeatureState, ...]:
    """Return the features that are finalized or supported by every registered node."""
    finalized = image.features.levels(kraft_version=kraft_version)
    registered = [
        _registered(node.features) for node in (*image.cluster.brokers.values(), *image.cluster.controllers.values())
    ]
    names = set(finalized)
    for supported in registered:
        names |= supported.keys()
    found = []
    for name in sorted(names):
        common = _common(name, registered)
        level = finalized.get(name, 0)
        found.append(
            FeatureState(
                feature=name,
                finalized=level,
                name=level_name(level) if name == METADATA_VERSION else None,
                supported=common,
                # What falkirk's controllers say of themselves is not for finalizing.
                can_rise_to=common[1]
                if common is not None and common[1] > level and name != FALKIRK_DOWNGRADE
                else None,
            )
        )
    return tuple(found)


def kraft_version(observation: Observation | None) -> int:
    """Return the finalized kraft.version, as any node reports it."""
    answers: Iterable[object] = () if observation is None else observation.answers.values()
    for answer in answers:
        if isinstance(answer, NodeVersions) and KRAFT_VERSION in answer.finalized_features:
            return answer.finalized_features[KRAFT_VERSION].max_version_level
    return 0


def drifts(
    image: MetadataImage, observation: Observation, nodes: Iterable[NodeState], ends: LogEnds, observed_ms: int
) -> Iterator[Drift]:
    """Yield how nodes differ. `observed_ms`: when they were. Replicas count by the leader's clock."""
    level = image.features.metadata_version
    due = ends.before(observed_ms - STALE_MS)
    for node in nodes:
        if node.answers is False:
            yield _drift(DriftKind.SILENT_NODE, node.node_id, {}, f"does not answer: {node.reason}")
        own = node.finalized.get(METADATA_VERSION)
        if own is not None and level is not None and own != level.level:
            fields = {"level": own, "cluster_level": level.level}
            yield _drift(
                DriftKind.OTHER_LEVEL, node.node_id, fields, f"runs at {level_name(own)}, the cluster at {level}"
            )
        epoch = node.finalized_epoch
        # The epoch is the offset of the last record that the node has applied.
        if epoch is not None and due is not None and epoch + 1 < due:
            fields = {"epoch": epoch, "end_offset": due}
            text = f"has applied the metadata log up to offset {epoch}; {STALE_MS // 1000} s ago it ended at {due}"
            yield _drift(DriftKind.STALE_EPOCH, node.node_id, fields, text)
    quorum = observation.quorum
    if quorum is None:
        return
    leader = next((each for each in quorum.voter_states if each.node_id == quorum.leader_id), None)
    now_ms = None if leader is None else leader.last_caught_up_timestamp
    for state in (*quorum.voter_states, *quorum.newest_observer_states):
        caught_up = state.last_caught_up_timestamp
        if now_ms is not None and caught_up is not None and now_ms - caught_up > STALE_MS:
            fields = {"lag": quorum.high_watermark - state.log_end_offset, "behind_ms": now_ms - caught_up}
            text = f"was last caught up with the metadata log {(now_ms - caught_up) // 1000} s ago"
            yield _drift(DriftKind.LAGGING_REPLICA, state.node_id, fields, text)


def clock_drift(difference_ms: int) -> Drift:
    """Return the drift of a clock: the leader's batches are so much later than this machine's clock."""
    later = "ahead of" if difference_ms > 0 else "behind"
    return Drift(
        kind=DriftKind.CLOCK_DIFFERS,
        node_id=None,
        fields={"difference_ms": difference_ms},
        text=f"the controller's clock is {abs(difference_ms) // 1000} s {later} this machine's: times of records are "
        "the controller's",
    )


def _drift(kind: DriftKind, node_id: int, fields: Mapping[str, int], text: str) -> Drift:
    return Drift(kind=kind, node_id=node_id, fields=fields, text=f"node {node_id} {text}")


def _registered(features: Iterable[SupportedFeature]) -> dict[str, tuple[int, int]]:
    return {each.name: (each.min_supported_version, each.max_supported_version) for each in features}


def _common(name: str, registered: Iterable[Mapping[str, tuple[int, int]]]) -> tuple[int, int] | None:
    """Return the levels that all have; who does not name the feature has level 0 alone."""
    ranges = [supported.get(name, (0, 0)) for supported in registered]
    if not ranges:
        return None
    lowest, highest = max(low for low, _ in ranges), min(high for _, high in ranges)
    return (lowest, highest) if lowest <= highest else None
