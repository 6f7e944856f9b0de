"""The cluster of a seed: number of controllers, releases, level and faults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from falkirk.protocol.endpoint import Endpoint
from falkirk.simulation.plans.data_plan import DataPlan
from falkirk.simulation.plans.fault_plan import POWER_LOSSES, REPEATED_REQUESTS, WIPED_DISKS, FaultPlan
from falkirk.simulation.plans.roll_plan import (
    DYNAMIC_RELEASES,
    ROLLING_RELEASES,
    Pause,
    RollPlan,
    highest_transaction_version,
)
from falkirk.versions.features import GROUP_VERSION, TRANSACTION_VERSION
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.protocol.chance import Chance
    from falkirk.simulation.plans.rehearsed_cluster import RehearsedCluster
    from falkirk.versions.metadata_version import MetadataVersion

RELEASES: Final = ROLLING_RELEASES
CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"
CONTROLLER_PORT: Final = 9093
BROKER_PORT: Final = 9092
_FIRST_BROKER_NODE: Final = 21
# A step costs more with data.
_FAULTS_WITH_DATA_MS: Final = 12_000
_SHARE_OF_ROLLS: Final = 1 / 3
_SKEW_MS_MAX: Final = 3_600_000
_SKEW_WITH_TRANSACTIONS_MS_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A cluster. Controllers have ids from 1 on, scripted brokers from 11, broker nodes from 21 on.

    `releases`: of all controllers; the last `spare_count` are not voters at first (dynamic voters only).
    `joins_itself`: controllers of 4.2 or newer become voters on their own. `node_releases`: of the broker nodes.
    `is_combined`: controllers are brokers, too. `data`: what is produced and consumed, None for no data. `roll`: the
    operator's plan; None: releases and level stay. `rehearsed`: the nodes and their initial metadata; None: ids are as
    above, and the cluster is new.
    """

    releases: tuple[Release, ...]
    metadata_version: "MetadataVersion"
    has_dynamic_voters: bool
    spare_count: int
    joins_itself: bool
    broker_count: int
    node_releases: tuple[Release, ...]
    administrator_count: int
    faults: FaultPlan
    # The duration of the faults.
    faults_ms: int = 20_000
    # Small, so that a short run writes and fetches snapshots.
    snapshot_bytes: int = 2_000
    segment_bytes: int = 4_000
    is_combined: bool = False
    data: DataPlan | None = None
    roll: RollPlan | None = None
    rehearsed: "RehearsedCluster | None" = None

    @classmethod
    def of(cls, chance: Chance) -> Scenario:
        """Choose a scenario: mostly three controllers, mixed releases half of the time."""
        count = chance.choice((1, 3, 3, 3, 3, 5))
        words = _words(chance, count, RELEASES)
        can_be_dynamic = all(word in DYNAMIC_RELEASES for word in words)
        is_dynamic = can_be_dynamic and chance.random() < 0.6
        spare_count = chance.choice((0, 1, 2)) if is_dynamic else 0
        oldest = min(map(RELEASES.index, words))
        words += _words(chance, spare_count, [word for word in RELEASES[oldest:] if word in DYNAMIC_RELEASES])
        node_words = _words(chance, chance.choice((0, 1, 1, 2)), RELEASES[oldest:])
        return cls(
            releases=tuple(map(Release.parse, words)),
            metadata_version=Release.parse(RELEASES[oldest]).latest_metadata_version,
            has_dynamic_voters=is_dynamic,
            spare_count=spare_count,
            joins_itself=is_dynamic and chance.random() < 0.5,
            broker_count=chance.randrange(1, 4),
            node_releases=tuple(map(Release.parse, node_words)),
            administrator_count=chance.randrange(1, 3),
            faults=FaultPlan.of(chance),
            snapshot_bytes=chance.choice((2_000, 10_000, 20 * 1024 * 1024)),
            segment_bytes=chance.choice((4_000, 1024 * 1024)),
        )

    @classmethod
    def of_seed(cls, chance: Callable[[str], Chance], *, has_transactions: bool = False) -> Scenario:
        """Choose the scenario of a seed. `chance` has its streams by purpose.

        `has_transactions`: it has data, and clients with transactions.
        """
        scenario = cls.of(chance("scenario"))
        scenario = scenario.with_data(chance("data"), is_required=has_transactions)
        scenario = scenario.with_roll(chance("roll")).with_elr(chance("elr"))
        scenario = scenario.with_groups(chance("groups"))
        return scenario.with_transactions(chance("transactions")) if has_transactions else scenario

    def with_data(self, chance: Chance, *, is_required: bool = False) -> Scenario:
        """Add brokers with data, half of the time; at most one scripted broker stays, which holds none.

        `is_required`: always. No quorum of brokers survives the loss of a disk: disks of controllers that are brokers
        are not wiped.
        """
        if chance.random() < 0.5 and not is_required:
            return self
        oldest = min(RELEASES.index(release.word) for release in self.releases)
        is_combined = chance.random() < 0.25
        words = [] if is_combined else _words(chance, chance.choice((1, 2, 3, 3, 3, 4)), RELEASES[oldest:])
        broker_count = len(self.releases) if is_combined else len(words)
        kinds = self.faults.kinds - {WIPED_DISKS} if is_combined else self.faults.kinds
        if kinds and chance.random() < 0.4:
            kinds |= {POWER_LOSSES}
        return replace(
            self,
            broker_count=chance.randrange(0, 2),
            administrator_count=1,
            node_releases=tuple(map(Release.parse, words)),
            is_combined=is_combined,
            faults=replace(self.faults, kinds=kinds),
            data=DataPlan.of(chance, broker_count),
            faults_ms=_FAULTS_WITH_DATA_MS,
        )

    def with_roll(self, chance: Chance, *, share: float = _SHARE_OF_ROLLS) -> Scenario:
        """Add an operator, with probability `share`.

        A repeated request to change the level would undo a later one; no client repeats it.
        """
        if chance.random() >= share:
            return self
        plan = RollPlan.of(
            chance,
            {node_id: self.release_of(node_id) for node_id in (*self.controller_ids, *self.broker_nodes)},
            self.metadata_version,
            brokers=list(self.broker_nodes),
            has_dynamic_voters=self.has_dynamic_voters,
            move_count=chance.choice((1, 2, 3, 4) if self.data is None else (1, 2)),
        )
        kinds = self.faults.kinds - {REPEATED_REQUESTS}
        return replace(self, roll=plan, faults=replace(self.faults, kinds=kinds))

    def with_groups(self, chance: Chance) -> Scenario:
        """Add consumer groups to a scenario with data, half of the time; a scripted broker is no coordinator.

        A repeated commit would undo a later one; no client repeats it.
        """
        if self.data is None or self.roll is not None or chance.random() < 0.5:
            return self
        kinds = self.faults.kinds - {REPEATED_REQUESTS}
        faults = replace(self.faults, kinds=kinds)
        return replace(self, data=self.data.with_groups(chance), broker_count=0, faults=faults)

    def with_transactions(self, chance: Chance) -> Scenario:
        """Add transactional clients to a scenario with data; mostly transaction.version moves meanwhile.

        A scripted broker is no coordinator, nor is a ghost. A repeated request can open a transaction that nobody ends,
        and a power loss can undo a commit, in Kafka, too.
        """
        assert self.data is not None, "it is required"
        releases = {node_id: self.release_of(node_id) for node_id in (*self.controller_ids, *self.broker_nodes)}
        data = self.data.with_transactions(chance, len(self.brokers))
        roll = self.roll
        if roll is None and chance.random() < 0.6:
            roll = RollPlan(steps=(Pause(for_ms=chance.randrange(500, 4_000)),) * chance.choice((1, 2, 4)))
        if roll is None:
            highest = highest_transaction_version(releases.values())
            data = replace(data, transaction_version=chance.randrange(0, highest + 1))
        else:
            roll = replace(roll.with_transaction_levels(chance, releases, self.metadata_version), has_ghost=False)
        kinds = self.faults.kinds - {REPEATED_REQUESTS, POWER_LOSSES}
        return replace(self, data=data, roll=roll, broker_count=0, faults=replace(self.faults, kinds=kinds))

    @property
    def first_features(self) -> dict[str, int]:
        """Return the levels with which the cluster begins, without `metadata.version`."""
        has_groups = self.data is not None and any(group.feature is None for group in self.data.groups)
        is_known = GROUP_VERSION in min(self.releases, key=lambda each: RELEASES.index(each.word)).features
        levels = {GROUP_VERSION: 1} if has_groups and is_known else {}
        transaction_version = 0 if self.data is None else self.data.transaction_version
        return {**levels, TRANSACTION_VERSION: transaction_version} if transaction_version else levels

    def with_elr(self, chance: Chance) -> Scenario:
        """Let the operator switch eligible leader replicas on and off, half of the time; see `RollPlan.with_elr`."""
        if self.roll is None or chance.random() < 0.5:
            return self
        releases = {node_id: self.release_of(node_id) for node_id in (*self.controller_ids, *self.broker_nodes)}
        return replace(self, roll=self.roll.with_elr(chance, releases, self.metadata_version))

    @property
    def skew_ms_max(self) -> int:
        """By how much the clocks of hosts differ at most, when the run begins.

        With transactions it is less than a run takes to recover: a coordinator whose clock is behind takes over what
        began by one that is ahead, and lets it time out that much later, as Kafka's does.
        """
        has_transactions = self.data is not None and bool(self.data.transactions)
        return _SKEW_WITH_TRANSACTIONS_MS_MAX if has_transactions else _SKEW_MS_MAX

    @property
    def scripted_release(self) -> Release:
        """The release of scripted brokers: where levels move, one that supports them all."""
        return self.releases[0] if self.roll is None else Release.parse(RELEASES[-1])

    @property
    def controllers(self) -> dict[int, Endpoint]:
        """The endpoint of each controller by node id."""
        return {node_id: Endpoint(f"controller-{node_id}", CONTROLLER_PORT) for node_id in self.controller_ids}

    @property
    def controller_ids(self) -> Sequence[int]:
        """The node ids of the controllers."""
        if self.rehearsed is not None:
            return self.rehearsed.controllers
        return range(1, len(self.releases) + 1)

    @property
    def first_voter_ids(self) -> Sequence[int]:
        """The node ids of the voters with which the cluster is formatted."""
        return self.controller_ids[: len(self.releases) - self.spare_count]

    @property
    def broker_nodes(self) -> dict[int, Endpoint]:
        """The endpoint of each pure broker by node id."""
        ids: Sequence[int] = range(_FIRST_BROKER_NODE, _FIRST_BROKER_NODE + len(self.node_releases))
        if self.rehearsed is not None:
            ids = [each for each in self.rehearsed.brokers if each not in self.rehearsed.controllers]
        return {node_id: Endpoint(f"broker-{node_id}", BROKER_PORT) for node_id in ids}

    @property
    def brokers(self) -> dict[int, Endpoint]:
        """The broker endpoint of each node by node id."""
        combined = self.controllers if self.is_combined else {}
        if self.rehearsed is not None:
            combined = {each: at for each, at in self.controllers.items() if each in self.rehearsed.brokers}
        return {
            **{node_id: Endpoint(endpoint.host, BROKER_PORT) for node_id, endpoint in combined.items()},
            **self.broker_nodes,
        }

    def release_of(self, node_id: int) -> Release:
        """Return the release that a node runs when the run begins."""
        if self.rehearsed is not None:
            return self.rehearsed.node(node_id).release
        if node_id < _FIRST_BROKER_NODE:
            return self.releases[node_id - 1]
        return self.node_releases[node_id - _FIRST_BROKER_NODE]

    def __str__(self) -> str:
        """Return a summary in one line."""
        words = ", ".join(release.word for release in self.releases)
        voters = "static voters"
        if self.has_dynamic_voters:
            joins = ", which join by themselves" if self.joins_itself else ""
            voters = f"dynamic voters, {self.spare_count} spare{joins}"
        nodes = ", ".join(release.word for release in self.node_releases) or "none"
        return (
            f"controllers {words} with {voters} at {self.metadata_version}"
            f"{', brokers as well' if self.is_combined else ''}; broker nodes {nodes}, "
            f"{self.broker_count} scripted brokers, {self.administrator_count} administrators; "
            f"snapshots after {self.snapshot_bytes} bytes; data: {self.data or 'none'}; "
            f"operator: {self.roll or 'none'}; faults: {self.faults}"
        )


def _words(chance: Chance, count: int, among: Sequence[str]) -> list[str]:
    if chance.random() < 0.5:
        return [chance.choice(among)] * count
    return [chance.choice(among) for _ in range(count)]
