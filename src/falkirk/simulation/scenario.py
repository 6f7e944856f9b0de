"""What a seed makes of a cluster: how many controllers of which releases, which level, which faults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.endpoint import Endpoint
from falkirk.simulation.faults import FaultPlan
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance
    from falkirk.versions.metadata_version import MetadataVersion

RELEASES: Final = ("3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4")
CLUSTER_ID: Final = "c2ltdWxhdGVkLWNsdXN0ZQ"
CONTROLLER_PORT: Final = 9093
_FIRST_WITH_DYNAMIC_VOTERS: Final = "3.9"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One cluster. Controllers have the ids from 1 on, brokers from 11 on."""

    releases: tuple[Release, ...]
    metadata_version: MetadataVersion
    has_dynamic_voters: bool
    broker_count: int
    administrator_count: int
    faults: FaultPlan
    # Small, so that snapshots and their fetching happen in a short run.
    snapshot_bytes: int
    segment_bytes: int

    @classmethod
    def of(cls, chance: Chance) -> Scenario:
        """Choose one: mostly three controllers, mixed releases half of the time."""
        count = chance.choice((1, 3, 3, 3, 3, 5))
        if chance.random() < 0.5:
            words = [chance.choice(RELEASES)] * count
        else:
            words = [chance.choice(RELEASES) for _ in range(count)]
        oldest = Release.parse(min(words, key=RELEASES.index))
        can_be_dynamic = RELEASES.index(oldest.word) >= RELEASES.index(_FIRST_WITH_DYNAMIC_VOTERS)
        return cls(
            releases=tuple(Release.parse(word) for word in words),
            metadata_version=oldest.latest_metadata_version,
            has_dynamic_voters=can_be_dynamic and chance.random() < 0.5,
            broker_count=chance.randrange(2, 4),
            administrator_count=chance.randrange(1, 3),
            faults=FaultPlan.of(chance),
            snapshot_bytes=chance.choice((2_000, 10_000, 20 * 1024 * 1024)),
            segment_bytes=chance.choice((4_000, 1024 * 1024)),
        )

    @property
    def controllers(self) -> dict[int, Endpoint]:
        """Give where each controller listens."""
        return {node_id: Endpoint(f"controller-{node_id}", CONTROLLER_PORT) for node_id in self.controller_ids}

    @property
    def controller_ids(self) -> range:
        """Give the ids of the controllers."""
        return range(1, len(self.releases) + 1)

    def __str__(self) -> str:
        """Say it in one line."""
        words = ", ".join(release.word for release in self.releases)
        voters = "dynamic" if self.has_dynamic_voters else "static"
        return (
            f"controllers {words} with {voters} voters at {self.metadata_version}, {self.broker_count} brokers, "
            f"{self.administrator_count} administrators; snapshots after {self.snapshot_bytes} bytes; "
            f"faults: {self.faults}"
        )
