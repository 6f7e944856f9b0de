"""What a broker reports when its logs are loaded: what was cut off, set aside, or is in another directory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.node.broker.replication.local_changes import directory_of
from falkirk.node.effects import Fact
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.log.file_deletions import log_dir_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.storage.log.log_manager import LogManager, StrayLog
    from falkirk.storage.log.unified_log import UnifiedLog

LOGS_AT_ONCE: Final = 1_000
"""How many loaded logs are gone through in one step: some milliseconds."""


def loading_facts(
    logs: LogManager, image: MetadataImage, node_id: int, directory_ids: Mapping[str, bytes]
) -> Iterator[Fact | None]:
    """Yield the facts, and None after some logs. `directory_ids`: of the online log directories, by path."""
    loaded = list(logs.logs())
    for number, log in enumerate(loaded, 1):
        if number % LOGS_AT_ONCE == 0:
            yield None
        recovery = log.recovery
        if recovery.cut is not None:
            yield _cut_fact(log, image, node_id)
        if recovery.removed or recovery.restored:
            fields = {"log": log.directory, "removed": recovery.removed, "restored": recovery.restored}
            yield Fact("info", "log-files-recovered", fields)
    for number, stray in enumerate(logs.strays, 1):
        if number % LOGS_AT_ONCE == 0:
            yield None
        yield _stray_fact(stray, image, node_id)
    yield from _directory_facts(loaded, image, node_id, directory_ids)


def _cut_fact(log: UnifiedLog, image: MetadataImage, node_id: int) -> Fact:
    cut, partition = log.recovery.cut, log.topic_partition
    assert cut is not None, "checked before"
    state = image.topics.partition(partition.topic, partition.partition)
    others = () if state is None else sorted(set(state.isr) - {node_id})
    fields = {
        "partition": str(partition),
        "file": cut.file,
        "byte": cut.position,
        "reason": cut.reason,
        "log_end_offset": cut.offset,
        "cut_bytes": cut.size_bytes,
        "valid_batches": cut.batches,
        "valid_records": cut.records,
        "last_valid_offset": cut.last_offset,
        "kept": cut.kept,
        "in_sync_elsewhere": others,
    }
    # Without another replica in sync nobody else has these records.
    return Fact("error" if cut.kept and not others else "warning", "log-cut-off", fields)


def _stray_fact(stray: StrayLog, image: MetadataImage, node_id: int) -> Fact:
    level, name = "warning", stray.partition
    topic = image.topics.topic(name.topic)
    state = None if topic is None else topic.partition(name.partition)
    if topic is None:
        reason = "there is no such topic"
    elif state is None or node_id not in state.replicas:
        reason = "the broker has no replica of it"
    elif topic.topic_id != stray.topic_id:
        # Its replica here starts empty.
        level, reason = "error", f"the topic has the id {uuid_text(topic.topic_id)}"
    else:
        reason = f"its replica is in directory {uuid_text(directory_of(state, node_id))}"
    fields = {"log": stray.path, "renamed_to": stray.new_path, "topic_id": uuid_text(stray.topic_id), "reason": reason}
    return Fact(level, "stray-log", fields)


def _directory_facts(
    logs: Sequence[UnifiedLog], image: MetadataImage, node_id: int, directory_ids: Mapping[str, bytes]
) -> Iterator[Fact | None]:
    """Yield a fact for each pair of a directory and the one where the image has logs of it, if that is not online."""
    found: dict[tuple[str, bytes], list[str]] = defaultdict(list)
    known = {LOST, MIGRATING, UNASSIGNED, *directory_ids.values()}
    for number, log in enumerate(logs, 1):
        if number % LOGS_AT_ONCE == 0:
            yield None
        name = log.topic_partition
        state = image.topics.partition(name.topic, name.partition)
        if state is not None and node_id in state.replicas and directory_of(state, node_id) not in known:
            found[log_dir_of(log.directory), directory_of(state, node_id)].append(str(name))
    for (log_dir, expected), partitions in found.items():
        fields = {
            "log_dir": log_dir,
            "directory_id": uuid_text(directory_ids[log_dir]),
            "directory_id_in_metadata": uuid_text(expected),
            "partitions": len(partitions),
            "first": partitions[0],
        }
        yield Fact("warning", "directory-id-differs", fields)
