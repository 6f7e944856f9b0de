"""A small cluster with transactional clients, two of which fight for an id."""

from dataclasses import replace

from group_clusters import SCENARIO as GROUP_SCENARIO

from falkirk.simulation.plans.data_plan import TopicPlan
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.roll_plan import Pause, RollPlan, SetFeature
from falkirk.simulation.plans.scenario import Scenario
from falkirk.simulation.plans.transaction_plan import TRANSACTED, TransactionPlan
from falkirk.versions.features import TRANSACTION_VERSION
from falkirk.versions.release import Release

TOPIC = TopicPlan(
    name=TRANSACTED,
    partition_count=3,
    replication_factor=3,
    configs={"min.insync.replicas": "2", "segment.ms": "2000", "retention.ms": "-1"},
)


def quiet(release: Release, transaction_version: int) -> Scenario:
    """Return the cluster without faults."""
    assert GROUP_SCENARIO.data is not None
    data = replace(
        GROUP_SCENARIO.data,
        topics=(*GROUP_SCENARIO.data.topics, TOPIC),
        groups=(),
        transactions=(
            TransactionPlan(transactional_id="alone", client_count=1, interval_ms=100),
            TransactionPlan(transactional_id="fought", client_count=2, interval_ms=200),
        ),
        transaction_version=transaction_version,
    )
    return replace(
        GROUP_SCENARIO,
        releases=(release,),
        node_releases=(release,) * 3,
        metadata_version=release.latest_metadata_version,
        data=data,
    )


def disturbed(release: Release, transaction_version: int) -> Scenario:
    """Return the cluster with brokers that crash and are cut off."""
    faults = FaultPlan(kinds=frozenset({"crashes", "partitions"}), interval_ms=500, downtime_ms_max=1500)
    return replace(quiet(release, transaction_version), faults=faults, faults_ms=12_000)


def at_moving_levels() -> Scenario:
    """Return the quiet cluster while an operator takes transaction.version up and down, and down step by step."""
    steps = [
        step
        for level in (2, 0, 2, 1, 0, 1, 2)
        for step in (Pause(for_ms=2_000), SetFeature(name=TRANSACTION_VERSION, to=level))
    ]
    roll = RollPlan(steps=(*steps, Pause(for_ms=2_000)))
    return replace(quiet(Release.parse("4.3"), 0), roll=roll)
