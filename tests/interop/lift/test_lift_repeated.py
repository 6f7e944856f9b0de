"""A cluster of real Kafka goes down by `falkirk lift run` and up by Kafka's own tool, again and again, under load."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from kafka_cluster import COMBINED, Clusters
from kafka_node import BROKER, CONTROLLER
from kafka_tools import FEATURES, outputs
from lifted_cluster import under_load
from node_hooks import IN_PLACE
from waiting import becomes

pytestmark = [pytest.mark.interop, pytest.mark.full]
RUNS = int(os.environ.get("FALKIRK_LIFTS", "10"))
LIMITS = {"step_s": 100, "metadata_outage_s": 60}


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way on its smallest cluster; `fields`: of the lift's file."""

    roles: Mapping[int, tuple[str, ...]]
    dynamic: bool
    hooks: tuple[str, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)


@pytest.mark.parametrize(
    "way",
    [
        pytest.param(Way(roles={1: COMBINED}, dynamic=True), id="extra-voter"),
        pytest.param(
            Way(roles={1: (CONTROLLER,), 11: (BROKER,)}, dynamic=False, hooks=IN_PLACE, fields={"place": "in-place"}),
            id="in-place",
        ),
        pytest.param(
            Way(
                roles=dict.fromkeys((1, 2, 3), (CONTROLLER,)) | {11: (BROKER,)},
                dynamic=False,
                hooks=IN_PLACE,
                fields={"place": "in-place"},
            ),
            id="in-place-majority",
        ),
        pytest.param(
            Way(
                roles=dict.fromkeys((1, 2, 3), COMBINED),
                dynamic=False,
                hooks=IN_PLACE,
                fields={"place": "in-place-of-one"},
            ),
            id="in-place-of-one",
        ),
    ],
)
def test_a_cluster_goes_down_and_up_again_and_again_and_loses_nothing(
    clusters: Clusters, tmp_path: Path, way: Way
) -> None:
    fields = {**way.fields, "limits": LIMITS}
    with under_load(clusters, tmp_path, way.roles, dynamic=way.dynamic, hooks=way.hooks, **fields) as lifted:
        servers = ["--bootstrap-server", lifted.cluster.bootstrap_servers]
        for number in range(RUNS):
            if number > 0:
                lifted.prepare_next(number)
            ended = lifted.lift("run")
            assert ended.status == 0, (number, ended)
            assert lifted.status()["level"] == "3.9-IV0", number
            lifted.check_voters()
            lifted.loads.await_rounds(1)
            outputs([FEATURES, *servers, "upgrade", "--release-version", "4.3-IV0"])
            becomes(lambda: lifted.status()["level"], "4.3-IV0")
            print(f"run {number + 1} of {RUNS}")  # noqa: T201 - pytest shows it with the failure
            for member in lifted.load.members:
                member.join_anew()
    # What hooks have started ended with them: without a controller a broker would wait for it.
    lifted.cluster.kill()
    lifted.check_no_trace()
