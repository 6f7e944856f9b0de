"""Batches of a metadata log, and a disk for them."""

import tarfile
from collections.abc import Sequence
from pathlib import Path

from falkirk.protocol.batch_builder import ValueBatchBuilder, build_batch
from falkirk.protocol.control_record import ControlRecordType, encode_control_record
from falkirk.protocol.messages.kraft_version_record import KRaftVersionRecord
from falkirk.protocol.messages.leader_change_message import LeaderChangeMessage
from falkirk.protocol.messages.voters_record import Voter, VotersRecord
from falkirk.protocol.record import Record
from falkirk.protocol.schema import WireMessage
from falkirk.storage.memory_disk import MemoryDisk

CLUSTERS = Path(__file__).parent.parent / "data" / "clusters"


def data_batch(base_offset: int, epoch: int, values: Sequence[bytes] = (b"value",), timestamp_ms: int = 1000) -> bytes:
    """A batch of records as a leader writes it."""
    builder = ValueBatchBuilder(base_offset=base_offset, leader_epoch=epoch, timestamp_ms=timestamp_ms)
    builder.extend(values)
    return builder.build()


def leader_change(base_offset: int, epoch: int) -> bytes:
    """The batch with which a leader begins its epoch."""
    return control_batch(base_offset, epoch, (ControlRecordType.LEADER_CHANGE, LeaderChangeMessage(leader_id=1)))


def voters_batch(base_offset: int, epoch: int, *voter_ids: int) -> bytes:
    """The batch with which a leader changes the voters, with kraft.version 1 before."""
    return control_batch(
        base_offset,
        epoch,
        (ControlRecordType.KRAFT_VERSION, KRaftVersionRecord(kraft_version=1)),
        (ControlRecordType.KRAFT_VOTERS, voters(*voter_ids)),
    )


def voters(*voter_ids: int) -> VotersRecord:
    """Voters of which only the ids matter."""
    return VotersRecord(voters=[Voter(voter_id=voter_id) for voter_id in voter_ids])


def control_batch(base_offset: int, epoch: int, *messages: tuple[ControlRecordType, WireMessage]) -> bytes:
    """A batch of any control records."""
    records = [
        Record(base_offset + index, 1000, *encode_control_record(record_type, message))
        for index, (record_type, message) in enumerate(messages)
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=epoch, is_control=True)


def files_of(disk: MemoryDisk, directory: str) -> dict[str, bytes]:
    """All files of a directory."""
    return {name: disk.read(f"{directory}/{name}") for name in disk.list(directory)}


def copied(disk: MemoryDisk, directory: str) -> MemoryDisk:
    """Another disk with the same directory."""
    copy = MemoryDisk()
    copy.make_directory(directory)
    for name, data in files_of(disk, directory).items():
        copy.write(f"{directory}/{name}", [data])
    return copy


def kafka_metadata(cluster: str) -> dict[str, dict[str, bytes]]:
    """The metadata partitions of a cluster that real Kafka ran: files by name, by log directory."""
    found: dict[str, dict[str, bytes]] = {}
    with tarfile.open(CLUSTERS / f"{cluster}.tar.gz") as archive:
        for member in archive:
            path = Path(member.name)
            content = archive.extractfile(member)
            if content is not None and path.parent.name == "__cluster_metadata-0":
                found.setdefault(str(path.parent.parent), {})[path.name] = content.read()
    return found
