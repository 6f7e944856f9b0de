"""Codec against kio, kafka-python and aiokafka: encode responses, decode Metadata and small messages.

Budgets: encode >= 4x each peer; decode Metadata v12 (1,000 topics x 10) >= 3x kio; decode small messages >= 0.5x kio
and >= 3x kafka-python. Ratios are of CPU time per message, the median of interleaved rounds in one process.
"""

import io
import statistics
import time
from collections.abc import Callable

import kafka.protocol.consumer
import kafka.protocol.metadata
import kio.serial
from aiokafka.protocol.metadata import MetadataResponse_v5
from kio.schema.api_versions.v3.response import ApiVersionsResponse as KioApiVersionsResponse
from kio.schema.fetch.v12.request import FetchRequest as KioFetchRequest
from kio.schema.metadata.v5.response import MetadataResponse as KioMetadataResponseV5
from kio.schema.metadata.v12.response import MetadataResponse as KioMetadataResponse
from kio.schema.request_header.v2.header import RequestHeader as KioHeader

from falkirk.protocol import codec, messages
from falkirk.protocol.messages.api_versions_response import ApiVersion, ApiVersionsResponse, SupportedFeatureKey
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from falkirk.protocol.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from falkirk.protocol.schema import WireMessage

ROUNDS = 15


def measure(calls: list[Callable[[], object]], seconds: float = 0.03) -> list[list[float]]:
    """CPU seconds per call of each, round by round; rounds are interleaved, for the machine changes its speed."""
    times = []
    for call in calls:
        call()
        start = time.process_time()
        call()
        times.append(max(1, int(seconds / max(time.process_time() - start, 1e-7))))
    rounds = []
    for _ in range(ROUNDS):
        spent = []
        for call, count in zip(calls, times, strict=True):
            start = time.process_time()
            for _ in range(count):
                call()
            spent.append((time.process_time() - start) / count)
        rounds.append(spent)
    return rounds


def report(name: str, calls: dict[str, Callable[[], object]]) -> None:
    """Print a line per peer; the first call is ours, the ratio the median over the rounds."""
    rounds = measure(list(calls.values()))
    for index, peer in enumerate(list(calls)[1:], 1):
        ratio = statistics.median(spent[index] / spent[0] for spent in rounds)
        ours, theirs = (min(spent[at] for spent in rounds) * 1e6 for at in (0, index))
        print(f"{name} vs {peer} ratio={ratio:.2f} ours={ours:.2f}us peer={theirs:.2f}us", flush=True)


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


def kio_pair(cls: type, data: bytes) -> tuple[Callable[[], object], Callable[[], object]]:
    """(decode, encode) by kio of the same bytes."""
    reader, writer = kio.serial.entity_reader(cls), kio.serial.entity_writer(cls)
    entity, _ = reader(data, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        writer(buffer, entity)
        return buffer.getvalue()

    assert encode() == data
    return (lambda: reader(data, 0)), encode


def kafka_python_pair(cls: object, version: int, data: bytes) -> tuple[Callable[[], object], Callable[[], object]]:
    """(decode, encode) by kafka-python of the same bytes."""
    found = cls[version].decode(data)
    assert bytes(found.encode()) == data
    return (lambda: cls[version].decode(data)), found.encode


def aiokafka_pair(cls: type, data: bytes) -> tuple[Callable[[], object], Callable[[], object]]:
    """(decode, encode) by aiokafka of the same bytes."""
    found = cls.decode(io.BytesIO(data))
    assert found.encode() == data
    return (lambda: cls.decode(io.BytesIO(data))), found.encode


def encode_against(name: str, message: WireMessage, version: int, peers: dict[str, Callable[[], object]]) -> None:
    report(f"encode {name} v{version}", {"ours": lambda: codec.encode(message, version), **peers})


def decode_against(name: str, message: WireMessage, version: int, peers: dict[str, Callable[[], object]]) -> None:
    cls, data = type(message), codec.encode(message, version)
    report(f"decode {name} v{version}", {"ours": lambda: codec.decode(cls, version, data), **peers})


def main() -> None:
    large, small, apis, fetch = metadata(1000, 10), metadata(3, 3), api_versions(), fetch_request()
    kafka_metadata = kafka.protocol.metadata.MetadataResponse
    for label, message in (("Metadata 1000x10", large), ("Metadata 3x3", small)):
        data = codec.encode(message, 12)
        kio_decode, kio_encode = kio_pair(KioMetadataResponse, data)
        python_decode, python_encode = kafka_python_pair(kafka_metadata, 12, data)
        encode_against(label, message, 12, {"kio": kio_encode, "kafka-python": python_encode})
        decode_against(label, message, 12, {"kio": kio_decode, "kafka-python": python_decode})
    data = codec.encode(large, 5)
    aiokafka_decode, aiokafka_encode = aiokafka_pair(MetadataResponse_v5, data)
    _, kio_encode = kio_pair(KioMetadataResponseV5, data)
    encode_against("Metadata 1000x10", large, 5, {"aiokafka": aiokafka_encode, "kio": kio_encode})
    decode_against("Metadata 1000x10", large, 5, {"aiokafka": aiokafka_decode})

    data = codec.encode(apis, 3)
    kio_decode, kio_encode = kio_pair(KioApiVersionsResponse, data)
    python_decode, python_encode = kafka_python_pair(kafka.protocol.metadata.ApiVersionsResponse, 3, data)
    encode_against("ApiVersions", apis, 3, {"kio": kio_encode, "kafka-python": python_encode})
    decode_against("ApiVersions", apis, 3, {"kio": kio_decode, "kafka-python": python_decode})

    data = codec.encode(fetch, 12)
    kio_decode, kio_encode = kio_pair(KioFetchRequest, data)
    python_decode, python_encode = kafka_python_pair(kafka.protocol.consumer.FetchRequest, 12, data)
    encode_against("Fetch request", fetch, 12, {"kio": kio_encode, "kafka-python": python_encode})
    decode_against("Fetch request", fetch, 12, {"kio": kio_decode, "kafka-python": python_decode})

    header = messages.RequestHeader(request_api_key=3, request_api_version=12, correlation_id=7, client_id="client-1")
    kio_decode, kio_encode = kio_pair(KioHeader, codec.encode(header, 2))
    decode_against("RequestHeader", header, 2, {"kio": kio_decode})


if __name__ == "__main__":
    main()
