"""Metadata of 1,000 topics while nothing changes: a broker of ours against one of real Kafka.

Budget: >= 10x. The request is for all topics, as from a new client.
"""

from falkirk.protocol.messages import MetadataRequest, MetadataResponse
from support.brokers import both_sides, create_topics, print_turns
from support.kafka_peer import Peer, measure_against_kafka
from support.load import Work, ask, run_load

TURNS = 3
TOPICS = 1_000
WARM_UP_MS = 1_000
FIRST_WARM_UP_MS = 8_000  # the peer's compiler has work to do
MEASURED_MS = 2_000
WORK = Work(request=MetadataRequest(topics=None, allow_auto_topic_creation=False), version=12)


def measure(kafka: Peer) -> None:
    with both_sides(kafka) as sides:
        for side in sides:
            create_topics(side.port, [f"topic-{number:04}" for number in range(TOPICS)])
            assert len(ask(side.port, WORK.request, WORK.version, MetadataResponse).topics) == TOPICS
        targets = [side.target(WORK) for side in sides]
        run_load(kafka, targets, connections=16, in_flight=1, warm_up_ms=FIRST_WARM_UP_MS, measured_ms=100)
        for connections in (1, 16):
            turns = [
                run_load(
                    kafka,
                    targets,
                    connections=connections,
                    in_flight=1,
                    warm_up_ms=WARM_UP_MS,
                    measured_ms=MEASURED_MS,
                )
                for _ in range(TURNS)
            ]
            print_turns(f"Metadata, {TOPICS} topics, {connections} x 1", turns, budget=10)


if __name__ == "__main__":
    measure_against_kafka("metadata", measure)
