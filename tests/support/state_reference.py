"""The tables of a cluster's metadata, row by row from the image that `logdir` reads; bulk results must equal them."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from falkirk.logdir.cluster import Cluster
from falkirk.metadata.image.unknown_tags import has_unknown_tags
from falkirk.metadata.losses.condition import Always, Condition, RowContext
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.metadata.records.record_key import (
    PRODUCER_IDS_KEY,
    ObjectKey,
    acl_key,
    broker_key,
    client_quota_key,
    config_key,
    controller_key,
    object_key,
    partition_key,
    scram_key,
    topic_key,
)
from falkirk.metadata.records.record_reader import read_record
from falkirk.pipeline.tables import TABLES
from falkirk.protocol.control_record import decode_control_record
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    BrokerRegistrationChangeRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    KRaftVersionRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from falkirk.protocol.schema import WireMessage
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.snapshot_file import SnapshotName, format_snapshot_name

Row = dict[str, Any]


class AppliedRecord(NamedTuple):
    """One record that took effect."""

    record: WireMessage
    offset: int
    epoch: int
    timestamp: int
    source: str

    @property
    def place(self) -> Row:
        return {"record": type(self.record).__name__, "offset": self.offset, "source": self.source}


class History(NamedTuple):
    """Everything that a cluster's files still hold, in three parts; control records too."""

    in_snapshot: list[AppliedRecord]
    earlier: list[AppliedRecord]
    behind: list[AppliedRecord]

    @property
    def all(self) -> Iterable[AppliedRecord]:
        return chain(*self)


def reference_tables(cluster: Cluster) -> dict[str, list[Row]]:
    """Return the rows of every metadata table, except log_dirs and problems, in no order (see `in_order`)."""
    history = history_of(cluster)
    places = _Places(history)
    makers = {
        "clusters": _clusters(cluster),
        "feature_levels": _feature_levels(cluster, history),
        "brokers": _brokers(cluster, history, places),
        "controllers": _controllers(cluster, places),
        "topics": _topics(cluster, places),
        "partitions": _partitions(cluster, places),
        "configs": _configs(cluster, places),
        "acls": _acls(cluster, places),
        "scram_credentials": _scram_credentials(cluster, places),
        "client_quotas": _client_quotas(cluster, places),
        "producer_ids": _producer_ids(cluster, places),
        "unknown_tags": _unknown_tags(cluster, history),
    }
    return {name: TABLES[name].rows(rows).to_pylist() for name, rows in makers.items()}


def in_order(rows: Iterable[Row]) -> list[Row]:
    """Return rows in an order that depends on their contents alone."""
    return sorted(rows, key=lambda row: repr(sorted(row.items(), key=lambda item: item[0])))


# --- What the files still have


def history_of(cluster: Cluster) -> History:
    log = cluster.log
    if log is None or log.end_offset == 0:
        # Formatted and never run: the bootstrap records stand for a snapshot.
        return History(list(_counted(_of_batches(cluster.behind_snapshot))), [], [])
    snapshot = []
    if log.snapshot is not None and log.snapshot_id is not None:
        file = str(log.directory / format_snapshot_name(SnapshotName(id=log.snapshot_id)))
        snapshot = [(file, batch) for batch in log.snapshot.data_batches]
    return History(*(list(_counted(_of_log(part))) for part in (snapshot, log.earlier, log.batches)))


def _of_batches(batches) -> Iterator[AppliedRecord]:
    for batch in batches:
        for offset, value in enumerate(batch.values, batch.base_offset):
            yield AppliedRecord(read_record(value), offset, batch.epoch, batch.timestamp, batch.source)


def _of_log(batches) -> Iterator[AppliedRecord]:
    for file, batch in batches:
        for record in batch.records():
            if batch.is_control:
                message = decode_control_record(record.key, record.value).message
            else:
                message = read_record(record.value)
            yield AppliedRecord(message, record.offset, batch.leader_epoch, record.timestamp, file)


def _counted(records: Iterable[AppliedRecord]) -> Iterator[AppliedRecord]:
    """Leave out aborted and incomplete transactions, and their markers."""
    held_back: list[AppliedRecord] | None = None
    for told in records:
        if isinstance(told.record, BeginTransactionRecord):
            held_back = []
        elif isinstance(told.record, EndTransactionRecord | AbortTransactionRecord):
            if isinstance(told.record, EndTransactionRecord):
                yield from held_back or ()
            held_back = None
        elif held_back is not None:
            held_back.append(told)
        else:
            yield told


# --- Where something was written last

_WRITERS = {rule.kind: rule.writers for rule in CATALOGUE}
_NO_CONTEXT = RowContext()
_ANY_PARTITION_RECORD: dict[str, Condition] = {"PartitionRecord": Always(), "PartitionChangeRecord": Always()}


class _Places:
    """All records by the object that they concern."""

    def __init__(self, history: History) -> None:
        self._by_key: dict[ObjectKey, list[AppliedRecord]] = {}
        for told in history.all:
            key = object_key(told.record)
            if key is not None:
                self._by_key.setdefault(key, []).append(told)

    def last(self, key: ObjectKey, writers: dict[str, Condition] | str) -> Row | None:
        """Find the last writer: records by type, with a condition; or any record of one type."""
        wanted = {writers: Always()} if isinstance(writers, str) else writers
        for told in reversed(self._by_key.get(key, [])):
            condition = wanted.get(type(told.record).__name__)
            if condition is not None and condition.holds(told.record, _NO_CONTEXT):
                return told.place
        return None


# --- The tables


def _clusters(cluster: Cluster) -> list[Row]:
    log = cluster.log
    has_run = log is not None and log.end_offset > 0
    level = cluster.image.features.metadata_version
    return [
        {
            "cluster_id": cluster.cluster_id,
            "metadata_version": None if level is None else level.level,
            "kraft_version": cluster.kraft_version,
            "epoch": cluster.epoch if has_run else None,
            "end_offset": cluster.end_offset,
            "last_timestamp": cluster.last_timestamp or None if has_run else None,
            "chosen_node": cluster.chosen if has_run else None,
            "nodes": [node.node_id for node in cluster.nodes],
            "voters": None if cluster.voters is None else sorted(cluster.voters.ids),
            "dynamic_voters": _dynamic_voters(cluster),
            "has_majority": None if cluster.voters is None or cluster.chosen is None else True,
            "is_complete": True,
            **dict.fromkeys(("owner", "team", "region", "environment", "ingested_at")),
        }
    ]


def _dynamic_voters(cluster: Cluster) -> list[Row] | None:
    voters = cluster.voters
    if voters is None or not voters.directory_ids:
        return None
    rows = []
    for voter_id in sorted(voters.ids):
        endpoint = voters.endpoints.get(voter_id)
        rows.append(
            {
                "voter_id": voter_id,
                "directory_id": uuid_text(voters.directory_ids[voter_id]),
                "host": None if endpoint is None else endpoint.host,
                "port": None if endpoint is None else endpoint.port,
            }
        )
    return rows


def _feature_levels(cluster: Cluster, history: History) -> list[Row]:
    rows: list[Row] = []
    log = cluster.log
    levels: dict[str, int] = {}
    first = next(iter(log.earlier or log.batches), None) if log is not None else None
    begins_at_0 = first is not None and first[1].base_offset == 0
    for told in history.earlier:
        rows += _change(told, levels, begins_at_0=begins_at_0)
    has_snapshot = log is None or log.end_offset == 0 or log.snapshot is not None
    if has_snapshot:
        at_snapshot = {
            told.record.name: told.record.feature_level
            for told in history.in_snapshot
            if isinstance(told.record, FeatureLevelRecord) and told.record.name != "kraft.version"
        }
        source, epoch, timestamp = None, 0, None
        if log is not None and log.snapshot is not None:
            source = str(log.directory / format_snapshot_name(SnapshotName(id=log.snapshot_id)))
            epoch, timestamp = log.snapshot_id.epoch, log.snapshot.last_contained_log_timestamp
            at_snapshot["kraft.version"] = log.snapshot.kraft_version or 0
        sources = {told.record.name: told.source for told in history.in_snapshot
                   if isinstance(told.record, FeatureLevelRecord)}  # fmt: skip
        for name, level in at_snapshot.items():
            if levels.get(name, 0) != level:
                rows.append(
                    {"feature": name, "from_level": levels.get(name), "to_level": level, "offset": None,
                     "epoch": epoch, "timestamp": timestamp, "source": sources.get(name, source)}
                )  # fmt: skip
        levels |= {name: level for name, level in at_snapshot.items() if level or name in levels}
    for told in history.behind:
        rows += _change(told, levels, begins_at_0=has_snapshot or begins_at_0)
    last = {row["feature"]: index for index, row in enumerate(rows)}
    return [row | {"is_current": last[row["feature"]] == index} for index, row in enumerate(rows)]


def _change(told: AppliedRecord, levels: dict[str, int], *, begins_at_0: bool) -> list[Row]:
    record = told.record
    if isinstance(record, FeatureLevelRecord) and record.name != "kraft.version":
        name, level = record.name, record.feature_level
    elif isinstance(record, KRaftVersionRecord):
        name, level = "kraft.version", record.kraft_version
    else:
        return []
    before = levels.get(name, 0 if begins_at_0 else None)
    levels[name] = level
    if before == level:
        return []
    return [
        {"feature": name, "from_level": before, "to_level": level, "offset": told.offset, "epoch": told.epoch,
         "timestamp": told.timestamp, "source": told.source}
    ]  # fmt: skip


def _end_points(points) -> list[Row]:
    return [
        {"name": point.name, "host": point.host, "port": point.port, "security_protocol": point.security_protocol}
        for point in points
    ]


def _features(features) -> list[Row]:
    return [
        {
            "name": feature.name,
            "min_supported_version": feature.min_supported_version,
            "max_supported_version": feature.max_supported_version,
        }
        for feature in features
    ]


def _texts(uuids) -> list[str] | None:
    return None if uuids is None else [uuid_text(uuid) for uuid in uuids]


def _brokers(cluster: Cluster, history: History, places: _Places) -> list[Row]:
    since = _fenced_since(cluster, history)
    rows = []
    for broker_id, broker in cluster.image.cluster.brokers.items():
        key = broker_key(broker_id)
        rows.append(
            {
                "broker_id": broker_id,
                "incarnation_id": uuid_text(broker.incarnation_id),
                "broker_epoch": broker.broker_epoch,
                "end_points": _end_points(broker.end_points),
                "features": _features(broker.features),
                "rack": broker.rack,
                "fenced": broker.fenced,
                "fenced_since": since.get(broker_id) if broker.fenced else None,
                "in_controlled_shutdown": broker.in_controlled_shutdown,
                "is_migrating_zk_broker": broker.is_migrating_zk_broker,
                "log_dirs": _texts(broker.log_dirs),
                "cordoned_log_dirs": _texts(broker.cordoned_log_dirs),
                "written": places.last(key, _WRITERS["migrating_zk_broker"]),
                "in_controlled_shutdown_written": places.last(key, _WRITERS["in_controlled_shutdown"]),
                "log_dirs_written": places.last(key, _WRITERS["broker_log_dirs"]),
                "cordoned_log_dirs_written": places.last(key, _WRITERS["cordoned_log_dirs"]),
            }
        )
    return rows


def _fenced_since(cluster: Cluster, history: History) -> dict[int, int]:
    """Return since when each fenced broker has been fenced without a break, as far back as the records go."""
    since: dict[int, int] = {}
    log = cluster.log
    for told in history.earlier:
        _fence(told, told.timestamp, since)
    if log is not None and log.snapshot is not None:
        registered = {told.record.broker_id: told.record.fenced for told in history.in_snapshot
                      if isinstance(told.record, RegisterBrokerRecord)}  # fmt: skip
        end = log.snapshot.last_contained_log_timestamp
        since = {broker: since.get(broker, end) for broker, fenced in registered.items() if fenced}
    for told in history.behind:
        _fence(told, told.timestamp, since)
    return since


def _fence(told: AppliedRecord, timestamp: int, since: dict[int, int]) -> None:
    record = told.record
    fenced = None
    if isinstance(record, RegisterBrokerRecord):
        broker, fenced = record.broker_id, record.fenced
    elif isinstance(record, BrokerRegistrationChangeRecord):
        broker, fenced = record.broker_id, {1: True, -1: False}.get(record.fenced)
    elif isinstance(record, FenceBrokerRecord):
        broker, fenced = record.id, True
    elif isinstance(record, UnfenceBrokerRecord):
        broker, fenced = record.id, False
    elif isinstance(record, UnregisterBrokerRecord):
        broker, fenced = record.broker_id, False
    if fenced:
        since.setdefault(broker, timestamp)
    elif fenced is False:
        since.pop(broker, None)


def _controllers(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "controller_id": controller_id,
            "incarnation_id": uuid_text(controller.incarnation_id),
            "zk_migration_ready": controller.zk_migration_ready,
            "end_points": _end_points(controller.end_points),
            "features": _features(controller.features),
            "written": places.last(controller_key(controller_id), "RegisterControllerRecord"),
        }
        for controller_id, controller in cluster.image.cluster.controllers.items()
    ]


def _topics(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "topic_id": uuid_text(topic.topic_id),
            "name": topic.name,
            "partitions": topic.partition_count,
            "written": places.last(topic_key(topic.topic_id), "TopicRecord"),
        }
        for topic in cluster.image.topics
    ]


def _partitions(cluster: Cluster, places: _Places) -> list[Row]:
    rows = []
    for topic in cluster.image.topics:
        for partition_id, partition in topic.items():
            key = partition_key(topic.topic_id, partition_id)
            rows.append(
                {
                    "topic_id": uuid_text(topic.topic_id),
                    "topic": topic.name,
                    "partition_id": partition_id,
                    "replicas": partition.replicas,
                    "isr": partition.isr,
                    "removing_replicas": partition.removing_replicas,
                    "adding_replicas": partition.adding_replicas,
                    "leader": partition.leader,
                    "leader_recovery_state": partition.leader_recovery_state,
                    "leader_epoch": partition.leader_epoch,
                    "partition_epoch": partition.partition_epoch,
                    "directories": _texts(partition.directories),
                    "eligible_leader_replicas": partition.eligible_leader_replicas,
                    "last_known_elr": partition.last_known_elr,
                    "written": places.last(key, _ANY_PARTITION_RECORD),
                    "directories_written": places.last(key, _WRITERS["directory_assignment"]),
                    "replica_state_written": places.last(key, _WRITERS["eligible_leader_replicas"]),
                }
            )
    return rows


def _configs(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
            "name": name,
            "value": value,
            "written": places.last(config_key(*resource, name), "ConfigRecord"),
        }
        for resource, name, value in cluster.image.configs
    ]


def _acls(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "id": uuid_text(acl_id),
            "resource_type": acl.resource_type,
            "resource_name": acl.resource_name,
            "pattern_type": acl.pattern_type,
            "principal": acl.principal,
            "host": acl.host,
            "operation": acl.operation,
            "permission_type": acl.permission_type,
            "written": places.last(acl_key(acl_id), "AccessControlEntryRecord"),
        }
        for acl_id, acl in cluster.image.acls.acls.items()
    ]


def _scram_credentials(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "name": user.name,
            "mechanism": user.mechanism,
            "iterations": credential.iterations,
            "written": places.last(scram_key(user.name, user.mechanism), "UserScramCredentialRecord"),
        }
        for user, credential in cluster.image.scram.credentials.items()
    ]


def _client_quotas(cluster: Cluster, places: _Places) -> list[Row]:
    return [
        {
            "entity": [{"entity_type": entity_type, "entity_name": name} for entity_type, name in entity],
            "key": key,
            "value": value,
            "written": places.last(client_quota_key(entity, key), "ClientQuotaRecord"),
        }
        for entity, key, value in cluster.image.client_quotas
    ]


def _producer_ids(cluster: Cluster, places: _Places) -> list[Row]:
    next_producer_id = cluster.image.producer_ids.next_producer_id
    if next_producer_id < 0:
        return []
    written = places.last(PRODUCER_IDS_KEY, "ProducerIdsRecord")
    return [{"next_producer_id": next_producer_id, "written": written}]


def _unknown_tags(cluster: Cluster, history: History) -> list[Row]:
    image = cluster.image
    rows = []
    for key, tags in image.unknown_tags.tags.items():
        name = image.topics.names.get(key.identity[0]) if key.kind in {"topic", "partition"} else None
        carriers = {tag.record for tag in tags}
        written = [
            told.place
            for told in history.all
            if type(told.record).__name__ in carriers
            and object_key(told.record) == key
            and has_unknown_tags(told.record)
        ]
        rows += [
            {
                "key": key.text(name),
                "record": tag.record,
                "path": tag.path,
                "tag": tag.tag,
                "data": tag.data,
                "written": written[-1],
            }
            for tag in tags
        ]
    return rows
