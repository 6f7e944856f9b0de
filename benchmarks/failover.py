"""How long a cluster accepts no change when its active controller goes: three of ours against three of real Kafka's.

Budget: a ratio of 0.8, however many partitions there are. From the last change that was acknowledged before the active
controller is killed, or stops in order, to the first one after. All timeouts are Kafka's defaults: a killed controller
is not missed for `controller.quorum.fetch.timeout.ms`, 2 s.

    failover.py [--partitions 100000] [--turns 1] [--json]
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from support.controllers import active_controller
from support.kafka_peer import PARTITIONS_PER_TOPIC, Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.load import ask
from support.server import Server, falkirk_servers, kafka_servers

BROKER_RESOURCE, BROKER = 4, "7"
CHANGES_BEFORE = 20
RETRY_S = 0.005
# Until a large snapshot is loaded, too.
WAIT_S = 300
BUDGET = 0.8
# The GiB of Kafka's start script does not hold a million partitions: no controller ever served with it.
HEAP = ("-Xmx3G",)
ENDS = {"killed": signal.SIGKILL, "stopped": signal.SIGTERM}


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how long a fail-over takes, ours and Kafka's.")
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    arguments = parser.parse_args()
    measure_against_kafka("failover", partial(measure, partitions=arguments.partitions, turns=arguments.turns))


def measure(kafka: Peer, *, partitions: int, turns: int) -> None:
    begin_with = snapshot(kafka, topics=partitions // PARTITIONS_PER_TOPIC, partitions=PARTITIONS_PER_TOPIC)
    for how, end in ENDS.items():
        ours, theirs = [], []
        for _ in range(turns):
            with tempfile.TemporaryDirectory() as folder:
                with falkirk_servers(Path(folder) / "falkirk", 3, snapshot=begin_with) as servers:
                    ours.append(fail_over(servers, end))
                with kafka_servers(
                    kafka, Path(folder) / "kafka", 3, roles="controller", snapshot=begin_with, jvm_options=HEAP
                ) as servers:
                    theirs.append(fail_over(servers, end))
                print(f"{how}: ours {ours[-1]:.2f} s, Kafka's {theirs[-1]:.2f} s", file=sys.stderr)
        print_line(f"the active controller is {how}, {partitions:,} partitions", ours, theirs, budget=BUDGET)


def fail_over(servers: Sequence[Server], end: signal.Signals) -> float:
    """End the active controller; return the seconds between two acknowledged changes."""
    active = active_controller(servers)
    first = time.monotonic()
    while not change(active):
        assert time.monotonic() < first + WAIT_S, "no controller serves"
        time.sleep(RETRY_S)
    for _ in range(CHANGES_BEFORE):
        assert change(active)
    last = time.monotonic()
    os.kill(active.pid, end)
    others = [server for server in servers if server is not active]
    for server in cycle(others):
        if change(server):
            return time.monotonic() - last
        assert time.monotonic() < last + WAIT_S, "nobody takes over"
        time.sleep(RETRY_S)
    raise AssertionError("unreachable")


def change(server: Server) -> bool:
    """Change a config; return whether this controller acknowledges it."""
    value = AlterableConfig("log.segment.bytes", 0, str(1_000_000_000 + time.monotonic_ns() % 1_000_000))
    request = IncrementalAlterConfigsRequest([AlterConfigsResource(BROKER_RESOURCE, BROKER, [value])])
    try:
        answer = ask(server.controller_port, request, 1, IncrementalAlterConfigsResponse)
    except (OSError, AssertionError):
        return False
    errors = {response.error_code for response in answer.responses}
    assert errors <= {ErrorCode.NONE, ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT}, errors
    return errors == {ErrorCode.NONE}


if __name__ == "__main__":
    main()
