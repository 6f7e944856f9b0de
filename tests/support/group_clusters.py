"""A small cluster with a group whose members come and go, and change the protocol."""

from dataclasses import replace

from falkirk.simulation.plans.data_plan import DataPlan, ProducerPlan, TopicPlan
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.group_plan import CLASSIC, CONSUMER, GroupPlan
from falkirk.simulation.plans.scenario import Scenario
from falkirk.versions.release import Release

RELEASE = Release.parse("4.3")
GROUP = GroupPlan(group_id="g", topic="kept-0", member_count=3, protocols=(CLASSIC, CONSUMER), life_ms=2_500)
SCENARIO = Scenario(
    releases=(RELEASE,),
    metadata_version=RELEASE.latest_metadata_version,
    has_dynamic_voters=False,
    spare_count=0,
    joins_itself=False,
    broker_count=0,
    node_releases=(RELEASE,) * 3,
    administrator_count=1,
    faults=FaultPlan(kinds=frozenset(), interval_ms=1000),
    faults_ms=8_000,
    data=DataPlan(
        topics=(
            TopicPlan(name="kept-0", partition_count=3, replication_factor=3, configs={"min.insync.replicas": "2"}),
        ),
        producers=(ProducerPlan(is_idempotent=True, acks=-1, interval_ms=400),),
        consumers=(),
        log_dir_count=1,
        is_administered=False,
        groups=(GROUP,),
    ),
)
"""No faults but crashes: members join, leave, vanish and change the protocol in its eight seconds."""


def disturbed() -> Scenario:
    """SCENARIO with brokers that crash and are partitioned."""
    faults = FaultPlan(kinds=frozenset({"crashes", "partitions"}), interval_ms=500, downtime_ms_max=1500)
    return replace(SCENARIO, faults=faults, faults_ms=12_000)


def cut_off() -> Scenario:
    """SCENARIO with brokers that are cut off from others for seconds, and members of one protocol that stay."""
    assert SCENARIO.data is not None
    data = replace(
        SCENARIO.data,
        producers=(ProducerPlan(is_idempotent=True, acks=-1, interval_ms=4_000),),
        groups=(replace(GROUP, protocols=(CLASSIC,), life_ms=20_000),),
    )
    faults = FaultPlan(kinds=frozenset({"partitions"}), interval_ms=5_000)
    return replace(SCENARIO, faults=faults, faults_ms=40_000, data=data)
