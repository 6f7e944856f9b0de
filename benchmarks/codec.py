"""Codec against kio, kafka-python and aiokafka: encode responses, decode Metadata and small messages.

Budgets: encode >= 4x each peer; decode Metadata v12 (1,000 topics x 10) >= 3x kio; decode small messages >= 0.5x kio
and >= 3x kafka-python. Times are CPU time per message, in interleaved rounds of one process.
"""

import io
import time
from collections.abc import Callable

import kafka.protocol.consumer
import kafka.protocol.metadata
import kio.serial
from aiokafka.protocol.metadata import MetadataResponse_v5
from kio.schema.api_versions.v3.response import ApiVersionsResponse as KioApiVersionsResponse
from kio.schema.fetch.v12.request import FetchRequest as KioFetchRequest
from kio.schema.metadata.v12.response import MetadataResponse as KioMetadataResponse
from kio.schema.request_header.v2.header import RequestHeader as KioHeader

from falkirk.protocol import codec
from falkirk.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse, SupportedFeatureKey
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from falkirk.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from falkirk.protocol.messages.request_header import RequestHeader
from falkirk.protocol.schema import WireMessage
from support.line import print_line

ROUNDS = 15
ROUND_SECONDS = 0.03


Call = Callable[[], object]


def measure(calls: list[Call]) -> list[list[float]]:
    """Return the CPU seconds per call of each, in rounds; rounds are interleaved because the machine's speed varies."""
    times = []
    for call in calls:
        call()
        start = time.process_time()
        call()
        times.append(max(1, int(ROUND_SECONDS / max(time.process_time() - start, 1e-7))))
    spent: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, count, mine in zip(calls, times, spent, strict=True):
            start = time.process_time()
            for _ in range(count):
                call()
            mine.append((time.process_time() - start) / count)
    return spent


def compare(name: str, ours: Call, peers: dict[str, tuple[Call, float]]) -> None:
    """Print a line per peer, given with its budget."""
    mine, *theirs = measure([ours, *(call for call, _ in peers.values())])
    for (peer, (_, budget)), spent in zip(peers.items(), theirs, strict=True):
        print_line(name, mine, spent, against=peer, budget=budget)


def metadata(topics: int, partitions: int) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=i, host=f"broker-{i}.example", port=9092) for i in range(3)],
        cluster_id="hfgjSfLshYrZXYqfd36Qxg",
        controller_id=1,
        topics=[
            MetadataResponseTopic(
                name=f"topic-{topic}",
                topic_id=topic.to_bytes(16, "big"),
                partitions=[
                    MetadataResponsePartition(
                        partition_index=index,
                        leader_id=index % 3,
                        leader_epoch=5,
                        replica_nodes=[0, 1, 2],
                        isr_nodes=[0, 1, 2],
                    )
                    for index in range(partitions)
                ],
            )
            for topic in range(topics)
        ],
    )


def api_versions() -> ApiVersionsResponse:
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=0, max_version=9) for key in range(60)],
        supported_features=[SupportedFeatureKey(name="metadata.version", min_version=1, max_version=30)],
    )


def fetch_request() -> FetchRequest:
    partitions = [FetchPartition(partition=i, fetch_offset=100, partition_max_bytes=2**20) for i in range(3)]
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchTopic(topic="orders", partitions=partitions)])


def kio_pair(cls: type, data: bytes) -> tuple[Call, Call]:
    """Return (decode, encode) by kio of the same bytes."""
    reader, writer = kio.serial.entity_reader(cls), kio.serial.entity_writer(cls)
    entity, _ = reader(data, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        writer(buffer, entity)
        return buffer.getvalue()

    assert encode() == data
    return (lambda: reader(data, 0)), encode


def kafka_python_pair(cls: object, version: int, data: bytes) -> tuple[Call, Call]:
    """Return (decode, encode) by kafka-python of the same bytes."""
    found = cls[version].decode(data)
    assert bytes(found.encode()) == data
    return (lambda: cls[version].decode(data)), found.encode


def encode_against(name: str, message: WireMessage, version: int, peers: dict[str, Call]) -> None:
    budgets = {peer: (call, 4) for peer, call in peers.items()}
    compare(f"encode {name} v{version}", lambda: codec.encode(message, version), budgets)


def decode_against(name: str, message: WireMessage, version: int, peers: dict[str, tuple[Call, float]]) -> None:
    cls, data = type(message), codec.encode(message, version)
    compare(f"decode {name} v{version}", lambda: codec.decode(cls, version, data), peers)


def main() -> None:
    large = metadata(1000, 10)
    data = codec.encode(large, 12)
    kio_decode, kio_encode = kio_pair(KioMetadataResponse, data)
    _, python_encode = kafka_python_pair(kafka.protocol.metadata.MetadataResponse, 12, data)
    encode_against("Metadata 1000x10", large, 12, {"kio": kio_encode, "kafka-python": python_encode})
    decode_against("Metadata 1000x10", large, 12, {"kio": (kio_decode, 3)})
    # aiokafka has no later version.
    data = codec.encode(large, 5)
    found = MetadataResponse_v5.decode(io.BytesIO(data))
    assert found.encode() == data
    encode_against("Metadata 1000x10", large, 5, {"aiokafka": found.encode})

    for name, message, version, kio_class, python_class in (
        ("Metadata 3x3", metadata(3, 3), 12, KioMetadataResponse, kafka.protocol.metadata.MetadataResponse),
        ("ApiVersions", api_versions(), 3, KioApiVersionsResponse, kafka.protocol.metadata.ApiVersionsResponse),
        ("Fetch request", fetch_request(), 12, KioFetchRequest, kafka.protocol.consumer.FetchRequest),
    ):
        data = codec.encode(message, version)
        kio_decode, kio_encode = kio_pair(kio_class, data)
        python_decode, python_encode = kafka_python_pair(python_class, version, data)
        encode_against(name, message, version, {"kio": kio_encode, "kafka-python": python_encode})
        decode_against(name, message, version, {"kio": (kio_decode, 0.5), "kafka-python": (python_decode, 3)})
    header = RequestHeader(request_api_key=3, request_api_version=12, correlation_id=7, client_id="client-1")
    kio_decode, _ = kio_pair(KioHeader, codec.encode(header, 2))
    decode_against("RequestHeader", header, 2, {"kio": (kio_decode, 0.5)})


if __name__ == "__main__":
    main()
