"""How long metadata writes stand still when real Kafka is lifted, against a restart of its active controller.

Budget: a ratio of 1. Three combined nodes with static voters, all timeouts Kafka's defaults. The control stops the
active controller in order and starts it again; the lift goes down to 3.9 by an extra voter. Both are measured by the
probe of `falkirk lift run`, from the last answer before to the first one after.

    lift.py [--turns 1] [--json]
"""

import argparse
import asyncio
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import yaml

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig
from falkirk.lift.probe import Probe
from falkirk.protocol.endpoint import Endpoint
from support.kafka_peer import Peer, measure_against_kafka
from support.line import print_line
from support.server import PROGRAM, SERVER_JVM_OPTIONS, STARTED, Server, free_ports, kafka_servers

NODES = 3
PROBE_MS = 2000
POLL_S = 0.05
# After the restart: what registers again, and elections of partitions, may cost writes too.
SETTLED_S = 5
LOWERING = ("lower", "follow")
BUDGET = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how long metadata writes stand still in a lift.")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print each line as a JSON object")
    arguments = parser.parse_args()
    measure_against_kafka("lift", partial(measure, turns=arguments.turns))


def measure(kafka: Peer, *, turns: int) -> None:
    lowering, whole, control = [], [], []
    for _ in range(turns):
        with (
            tempfile.TemporaryDirectory() as folder,
            kafka_servers(kafka, Path(folder) / "kafka", NODES, roles="broker,controller") as servers,
            restarting(kafka, servers) as restart,
        ):
            control.append(asyncio.run(interruption(servers, restart)))
            interruptions = lift(Path(folder), servers)
            lowering.append(max(interruptions.get(step, 0.0) for step in LOWERING))
            whole.append(max(interruptions.values()))
    print_line("metadata writes at the lowering", lowering, control, budget=BUDGET, against="a restart in Kafka")
    print_line("metadata writes in the whole lift", whole, control, budget=None, against="a restart in Kafka")


async def interruption(servers: list[Server], restart: Callable[[int], None]) -> float:
    """Restart the active controller; return the longest time without a metadata write, in seconds."""
    endpoints = [Endpoint("127.0.0.1", server.broker_port) for server in servers]
    async with AsyncAdmin(endpoints, ClientConfig().within(PROBE_MS)) as admin, Probe(admin) as probe:
        leader_id = (await admin.describe_quorum()).leader_id
        since_s = time.monotonic()
        await asyncio.to_thread(restart, leader_id)
        await asyncio.sleep(SETTLED_S)
        return probe.longest_s(since_s)


@contextmanager
def restarting(kafka: Peer, servers: list[Server]) -> Iterator[Callable[[int], None]]:
    """Yield what stops a node and starts it again; what it has started ends with the block."""
    started: list[subprocess.Popen[bytes]] = []

    def restart(node_id: int) -> None:
        [server] = [each for each in servers if each.node_id == node_id]
        os.kill(server.pid, signal.SIGTERM)
        # Its parent has not collected it: it has no command line any more.
        while Path(f"/proc/{server.pid}/cmdline").read_bytes():
            time.sleep(POLL_S)
        log = server.home / "again.log"
        with log.open("wb") as output:
            command = [kafka.java, *SERVER_JVM_OPTIONS, "-cp", kafka.class_path, "kafka.Kafka"]
            started.append(
                subprocess.Popen([*command, str(server.home / "server.properties")], stdout=output, stderr=output)
            )
        while not STARTED.search(log.read_bytes()):
            assert started[-1].poll() is None, log.read_text(errors="replace")[-4000:]
            time.sleep(POLL_S)

    try:
        yield restart
    finally:
        for process in started:
            process.kill()
            process.wait()


def lift(folder: Path, servers: list[Server]) -> dict[str, float]:
    """Lift the cluster; return the longest time without a metadata write in each step, in seconds."""
    [port] = free_ports(1)
    document = {
        "bootstrap_servers": [f"127.0.0.1:{server.broker_port}" for server in servers],
        "target": "3.9",
        "accept_losses": ["eligible_leader_replicas", "in_controlled_shutdown"],
        "upgrade_kraft_version": True,
        "place": {"node_id": 9001, "listener": f"127.0.0.1:{port}", "directory": "controller"},
    }
    file = folder / "lift.yaml"
    file.write_text(yaml.safe_dump(document))
    done = subprocess.run([PROGRAM, "lift", "run", file, "--json"], stdout=subprocess.PIPE, check=True)
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return {entry["step"]: entry["fields"]["longest_interruption_s"] for entry in entries if entry["event"] == "done"}


if __name__ == "__main__":
    main()
