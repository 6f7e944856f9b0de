"""A small cluster with eligible leader replicas (KIP-966); the feature is disabled while some are in use."""

from dataclasses import replace

from group_clusters import RELEASE, SCENARIO

from falkirk.simulation.plans.data_plan import DataPlan, ProducerPlan, TopicPlan
from falkirk.simulation.plans.fault_plan import FaultPlan
from falkirk.simulation.plans.roll_plan import Pause, RollPlan, SetFeature, SetLevel
from falkirk.simulation.plans.scenario import Scenario
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import MetadataVersion

ELR_ON = SetFeature(name=ELIGIBLE_LEADER_REPLICAS_VERSION, to=1)
ELR_OFF = SetFeature(name=ELIGIBLE_LEADER_REPLICAS_VERSION, to=0)
WITHOUT_ELR = SetLevel(to=MetadataVersion.parse("3.9"), switched_off=(ELIGIBLE_LEADER_REPLICAS_VERSION,))


def with_eligible_replicas() -> Scenario:
    """Two brokers crash, often both; min.insync.replicas changes; the feature goes alone or with the level."""
    on = (ELR_ON, Pause(for_ms=4000))
    steps = (*on, ELR_OFF, *on, WITHOUT_ELR, SetLevel(to=SCENARIO.metadata_version), *on, ELR_OFF, *on, ELR_OFF)
    topics = [
        TopicPlan(
            name=f"kept-{at}",
            partition_count=2,
            replication_factor=2,
            configs={"min.insync.replicas": minimum, "retention.ms": "-1"},
        )
        for at, minimum in enumerate(("1", "2"))
    ]
    return replace(
        SCENARIO,
        node_releases=(RELEASE,) * 2,
        faults=FaultPlan(kinds=frozenset({"crashes"}), interval_ms=1000, downtime_ms_max=9000),
        faults_ms=15_000,
        data=DataPlan(
            topics=tuple(topics),
            producers=(ProducerPlan(is_idempotent=True, acks=-1, interval_ms=200),),
            consumers=(),
            log_dir_count=1,
            is_administered=True,
        ),
        roll=RollPlan(steps=steps),
    )
