"""A quorum and its brokers for tests of a lift: who leads, what is committed, and who has heard of it."""

import asyncio
from dataclasses import dataclass, field, replace

from falkirk.client.cluster_description import ClusterDescription
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.feature_metadata import FeatureMetadata
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.lift.engine import Engine
from falkirk.lift.errors import NoLeaderError
from falkirk.lift.journal import Originals, OriginalVoter, VoterListener
from falkirk.lift.lift_file import Limits
from falkirk.lift.lifted_cluster import LiftedCluster
from falkirk.lift.step import Way
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.metadata_progress_tags import MetadataProgress
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

HIGH = MetadataVersion.parse("4.3-IV0").level
LOW = MetadataVersion.parse("3.9-IV0").level
OWN_ID = 9
NOWHERE = Endpoint("nowhere", 1)
LIMITS = Limits(metadata_outage_s=60, step_s=0.5)
UNREACHABLE = ConnectionFailedError(NOWHERE, "connection refused")
VOTERS = tuple(
    OriginalVoter(
        node_id=node_id,
        directory_id=f"{node_id:032x}",
        listeners=(VoterListener(name="CONTROLLER", host=f"kafka-{node_id}", port=9093),),
    )
    for node_id in (1, 2, 3)
)


class KilledError(BaseException):
    """Stands for the SIGKILL of the command."""


@dataclass
class FakeQuorum:
    """Stands for QuorumAccess. `level`: what the leader has committed; `leader_id`: None if nobody leads.

    `observers` fetch or did lately; `registered`: controllers.
    """

    level: int = HIGH
    leader_id: int | None = 1
    voters: set[int] = field(default_factory=lambda: {1, 2, 3})
    observers: frozenset[int] = frozenset()
    registered: frozenset[int] = frozenset((1, 2, 3))
    # How often a controller that has just started does not know the cluster yet.
    unknowing: int = 0

    async def registered_controllers(self) -> frozenset[int]:
        if self.unknowing:
            self.unknowing -= 1
            raise UNREACHABLE
        return self.registered

    async def describe(self) -> QuorumDescription:
        if self.leader_id is None:
            raise NoLeaderError("no controller leads the quorum")
        voters, observers = (
            tuple(
                ReplicaState(
                    node_id=node_id,
                    directory_id=bytes(16),
                    log_end_offset=100,
                    last_fetch_timestamp=None,
                    last_caught_up_timestamp=None,
                )
                for node_id in sorted(node_ids)
            )
            for node_ids in (self.voters, self.observers)
        )
        return QuorumDescription(
            leader_id=self.leader_id,
            leader_epoch=5,
            high_watermark=100,
            voter_states=voters,
            observer_states=observers,
            voter_listeners={},
        )

    async def finalized_level(self) -> int:
        await self.describe()
        return self.level


@dataclass
class FakeControllers(FakeQuorum):
    """Controllers 1 to 3, each running as kafka or falkirk, or not (None); Kafka's win elections."""

    running: dict[int, str | None] = field(default_factory=lambda: dict.fromkeys((1, 2, 3), "kafka"))
    holds_lowering: bool = False
    # Elections that a controller of Kafka's wins.
    refusals: int = 1

    def elect(self) -> None:
        up = [node_id for node_id, kind in self.running.items() if kind is not None]
        if 2 * len(up) <= len(self.running):
            self.leader_id = None
        elif self.leader_id not in up:
            self.leader_id = max(up, key=lambda node_id: (self.running[node_id] == "kafka", node_id))
            # Its log cuts off what was not committed.
            self.holds_lowering = False

    async def describe(self) -> QuorumDescription:
        quorum = await super().describe()
        states = [each for each in quorum.voter_states if self.running[each.node_id] is not None]
        return replace(quorum, voter_states=tuple(states))

    async def ask_to_lead(self, voter: OriginalVoter, _quorum: QuorumDescription) -> None:
        if self.refusals:
            self.refusals -= 1
        elif self.running[voter.node_id] == "falkirk":
            self.leader_id = voter.node_id

    async def versions_at(self, endpoint: Endpoint) -> NodeVersions | None:
        [kind] = [self.running[voter.node_id] for voter in VOTERS if voter.endpoint == endpoint]
        progress = progress_to(100, holds_lowering=self.holds_lowering)
        return None if kind is None else versions_at(self.level, progress if kind == "falkirk" else None)


def progress_to(applied_offset: int, *, holds_lowering: bool = False) -> MetadataProgress:
    """What a falkirk controller says of itself whose image ends there."""
    return MetadataProgress(
        snapshot_end_offset=None,
        snapshot_metadata_version=None,
        log_start_offset=0,
        applied_offset=applied_offset,
        holds_lowering=holds_lowering,
    )


def versions_at(level: int, progress: MetadataProgress | None) -> NodeVersions:
    """What a controller at a level says of itself."""
    return NodeVersions(
        api_ranges={},
        supported_features={},
        finalized_features={METADATA_VERSION: FinalizedVersionRange(level, level)},
        finalized_features_epoch=1,
        metadata_progress=progress,
    )


@dataclass
class FakeBrokers:
    """Stands for an Admin of brokers. `level`: what they report; None if none answers."""

    level: int | None = HIGH

    async def describe_cluster(self) -> ClusterDescription:
        return ClusterDescription(cluster_id="c", controller_id=None, nodes=())

    async def api_versions(self, _nodes: object) -> dict[int, NodeVersions]:
        return {}

    async def newest_features(self) -> FeatureMetadata:
        if self.level is None:
            raise UNREACHABLE
        found = {METADATA_VERSION: FinalizedVersionRange(self.level, self.level)}
        return FeatureMetadata(finalized_features=found, finalized_features_epoch=1, supported_features={})


class FakeProbe:
    """Stands for a Probe that is always answered."""

    silent_s = 0.0

    def longest_s(self, _since_s: float) -> float:
        return 0.0

    def interruptions(self, _since_s: float) -> list[dict[str, float]]:
        return []


def originals(voters: tuple[OriginalVoter, ...] = VOTERS, **fields: object) -> Originals:
    return Originals(
        cluster_id="c",
        leader_id=1,
        voters=voters,
        levels={METADATA_VERSION: HIGH},
        target=str(MetadataVersion.of_level(LOW)),
        **fields,
    )


def lifted_cluster(
    quorum: FakeQuorum,
    brokers: FakeBrokers,
    voters: tuple[OriginalVoter, ...] = VOTERS,
    /,
    *,
    limits: Limits = LIMITS,
    **fields: object,
) -> LiftedCluster:
    return LiftedCluster(
        MetadataVersion.of_level(LOW),
        originals(voters, **fields),
        voters,
        quorum=quorum,
        brokers=brokers,
        limits=limits,
        note=lambda _event, _fields: None,
        own_id=OWN_ID,
    )


class FakeLift:
    """Goes a way. `events`: what its journal has, with the step; `ghosts`: the registrations that it names."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str | None]] = []
        self.ghosts: list[object] = []
        self.engine: Engine | None = None

    def begin(self, way: Way, cluster: LiftedCluster) -> None:
        """Begin a command, which knows no more than the journal."""
        self.engine = Engine(
            way,
            cluster,
            limits=LIMITS,
            has_begun_lowering=lambda: ("begun", "lower") in self.events,
            record=self._record,
            notice=lambda _text: None,
        )

    def go(self) -> None:
        asyncio.run(self.engine.go(FakeProbe()))

    def abort(self) -> None:
        asyncio.run(self.engine.abort())

    def done(self) -> list[str | None]:
        return [step for event, step in self.events if event == "done"]

    def _record(self, event: str, step: str | None = None, fields: dict[str, object] | None = None) -> None:
        if event == "ghost-registered":
            self.ghosts.append(fields["node_id"])
        self.events.append((event, step))
