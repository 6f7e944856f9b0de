"""ApiVersions on one and on many connections: our controller against a broker of real Kafka.

Budgets: >= 4x less processor time per request and >= 2.5x the requests per second with one request at a time on 1 and
on 16 connections; >= 10x the requests per second with 32 at a time on 16. The load generator is the same for both and
has a core of its own, if there is one. Turns are short and alternate.
"""

import tempfile
from pathlib import Path

from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from support.brokers import print_turns
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Target, Work, ask, run_load
from support.server import falkirk_servers, kafka_servers

TURNS = 3
WARM_UP_MS = 1_000
FIRST_WARM_UP_MS = 8_000  # the peer's compiler has work to do
MEASURED_MS = 2_000
WORK = Work(request=ApiVersionsRequest(client_software_name="bench", client_software_version="1.0"), version=4)
# Connections, requests at a time on each, budgets of processor time and of wall.
LOADS = ((1, 1, 4.0, 2.5), (16, 1, 4.0, 2.5), (16, 32, None, 10.0))


def measure(kafka: Peer) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        kafka_servers(kafka, Path(folder) / "kafka", 1, roles="broker,controller") as (peer,),
        falkirk_servers(Path(folder) / "falkirk", 1) as (own,),
    ):
        # Each is asked where clients ask it.
        targets = [
            Target(port=own.controller_port, servers=[own], work=WORK),
            Target(port=peer.broker_port, servers=[peer], work=WORK),
        ]
        for target in targets:
            assert ask(target.port, WORK.request, WORK.version, ApiVersionsResponse).error_code == 0
        run_load(kafka, targets, connections=16, in_flight=8, warm_up_ms=FIRST_WARM_UP_MS, measured_ms=100)
        for connections, in_flight, cpu_budget, wall_budget in LOADS:
            turns = [
                run_load(
                    kafka,
                    targets,
                    connections=connections,
                    in_flight=in_flight,
                    warm_up_ms=WARM_UP_MS,
                    measured_ms=MEASURED_MS,
                )
                for _ in range(TURNS)
            ]
            print_turns(f"ApiVersions {connections} x {in_flight}", turns, budget=cpu_budget, wall_budget=wall_budget)


if __name__ == "__main__":
    measure_against_kafka("api_versions", measure)
