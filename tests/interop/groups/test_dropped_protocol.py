"""A consumer of the new protocol, on real Kafka that has its API and not its feature."""

from collections.abc import Iterator
from pathlib import Path

import confluent_kafka.admin as ck_admin
import pytest
from group_consumers import GroupConsumer, new_consumer
from java_client import JavaPrograms
from kafka_client import RefusedError
from kafka_cluster import COMBINED, Clusters

from falkirk.pipeline.transforms.client_blockers import JAVA_CLIENT, api_fate, client_versions
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release

pytestmark = pytest.mark.interop
CONSUMER_HEARTBEAT = 68
_POLLS_MAX = 300


@pytest.fixture
def java(tmp_path: Path) -> Iterator[JavaPrograms]:
    programs = JavaPrograms(tmp_path, "GroupMembers")
    yield programs
    programs.close()


def poll(member: GroupConsumer) -> None:
    for _ in range(_POLLS_MAX):
        member.poll()


@pytest.mark.parametrize("release", ["3.9.1", pytest.param("3.7.2", marks=pytest.mark.full)])
def test_it_ends_with_an_error_as_the_fleet_says(clusters: Clusters, java: JavaPrograms, release: str) -> None:
    cluster = clusters.new(release, {1: COMBINED})
    cluster.format()
    cluster.start()
    admin = ck_admin.AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
    admin.create_topics([ck_admin.NewTopic("orders", 1, 1)], operation_timeout=30)["orders"].result(30)
    member = new_consumer("java-4.3.1-consumer", cluster.bootstrap_servers, "shop", "orders", java)
    with pytest.raises(RefusedError, match="does not support the new CONSUMER group protocol"):
        poll(member)
    fate = api_fate(
        Release.parse(release),
        CONSUMER_HEARTBEAT,
        1,
        listener=Listener.BROKER,
        client=client_versions(JAVA_CLIENT, "4.3.1", CONSUMER_HEARTBEAT),
        negotiates=True,
        at=Release.parse(release).latest_metadata_version,
    )
    assert fate is not None
    assert fate.is_blocker
