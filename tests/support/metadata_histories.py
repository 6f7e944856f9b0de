"""Random histories of a metadata log: consistent records, of every type that a level can hold."""

from collections.abc import Sequence
from random import Random

from falkirk.protocol.messages import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
    UserScramCredentialRecord,
    ZkMigrationStateRecord,
)
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from falkirk.protocol.messages.register_controller_record import ControllerEndpoint, ControllerFeature
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.schema import WireMessage
from falkirk.versions.metadata_version import MetadataVersion

NODES = range(1, 5)
WORDS = ("orders", "billing", "audit", "shipping", "a.b", "x_y", "")
MIGRATING, UNASSIGNED, LOST = bytes(16), bytes(15) + b"\x01", bytes(15) + b"\x02"

Versioned = tuple[WireMessage, int]


class HistoryMaker:
    """Makes one batch of records after the other; knows what exists, so that each record is valid.

    `moves`: levels that metadata.version changes to now and then, up or down; empty for none.
    """

    def __init__(self, random: Random, level: int, *, moves: Sequence[int] = ()) -> None:
        self.random = random
        self.moves = moves
        self.at = MetadataVersion.of_level(level)
        self.brokers: dict[int, int] = {}
        self.log_dirs: dict[int, list[bytes]] = {}
        self.topics: dict[bytes, str] = {}
        self.partitions: dict[tuple[bytes, int], list[int]] = {}
        self.acls: list[bytes] = []
        self.epoch = 0

    def first_batch(self) -> list[Versioned]:
        return [(FeatureLevelRecord("metadata.version", self.at.level), 0)]

    def batch(self, records_max: int = 8) -> list[Versioned]:
        return [record for _ in range(self.random.randint(1, records_max)) for record in self.action()]

    def action(self) -> list[Versioned]:
        actions = [
            self.register_broker, self.register_broker, self.unregister_broker, self.change_broker, self.fence,
            self.create_topic, self.create_topic, self.remove_topic, self.config, self.config, self.quota,
            self.acl, self.remove_acl, self.producer_ids, self.feature, self.no_op, *[self.change_partition] * 6,
        ]  # fmt: skip
        if self.at.scram_supported:
            actions += [self.scram, self.remove_scram]
        if self.at.delegation_token_supported:
            actions += [self.token, self.remove_token]
        if self.at.controller_registration_supported:
            actions.append(self.register_controller)
        if self.at.controller_unregistration_supported:
            actions.append(self.unregister_controller)
        if self.at.elr_supported:
            actions.append(self.clear_elr)
        if self.at.migration_supported:
            actions.append(self.zk_migration_state)
        if self.moves:
            actions.append(self.move_level)
        return self.random.choice(actions)()

    def uuid(self) -> bytes:
        return self.random.randbytes(16)

    def word(self) -> str:
        return self.random.choice(WORDS)

    def some(self, items, least: int = 0) -> list:
        items = list(items)
        return self.random.sample(items, self.random.randint(min(least, len(items)), len(items)))

    # --- Brokers and controllers

    def register_broker(self) -> list[Versioned]:
        random, broker = self.random, self.random.choice(NODES)
        self.epoch += 1
        self.brokers[broker] = self.epoch
        self.log_dirs[broker] = [self.uuid() for _ in range(random.choice((1, 1, 2)))]
        record = RegisterBrokerRecord(
            broker_id=broker,
            incarnation_id=self.uuid(),
            broker_epoch=self.epoch,
            end_points=[
                BrokerEndpoint(name, "h", 9092, random.randint(0, 3)) for name in self.some(("P", "S", "Z"), 1)
            ],
            features=[BrokerFeature(name, 0, random.randint(0, 3)) for name in self.some(("b.version", "a.version"))],
            rack=random.choice((None, "r1", "")),
            fenced=random.random() < 0.5,
        )
        if self.at.in_controlled_shutdown_supported:
            record.in_controlled_shutdown = random.random() < 0.2
        if self.at.migration_supported:
            record.is_migrating_zk_broker = random.random() < 0.1
        if self.at.directory_assignment_supported:
            record.log_dirs = tuple(self.log_dirs[broker])
        if self.at.cordoned_log_dirs_supported and random.random() < 0.5:
            record.cordoned_log_dirs = tuple(self.some(self.log_dirs[broker]))
        return [(record, self.at.register_broker_record_version)]

    def unregister_broker(self) -> list[Versioned]:
        if not self.brokers or self.random.random() < 0.6:
            return []
        broker = self.random.choice(list(self.brokers))
        self.log_dirs.pop(broker)
        return [(UnregisterBrokerRecord(broker, self.brokers.pop(broker)), 0)]

    def change_broker(self) -> list[Versioned]:
        if not self.brokers or not self.at.broker_registration_change_record_supported:
            return []
        broker = self.random.choice(list(self.brokers))
        record = BrokerRegistrationChangeRecord(broker, self.brokers[broker], fenced=self.random.choice((-1, 0, 1)))
        version = self.at.broker_registration_change_record_version_max
        if version >= 1:
            record.in_controlled_shutdown = self.random.choice((0, 0, 1))
        if version >= 2 and self.random.random() < 0.3:
            record.log_dirs = tuple(self.some(self.log_dirs[broker]))
        if version >= 3 and self.random.random() < 0.3:
            record.cordoned_log_dirs = tuple(self.some(self.log_dirs[broker]))
        return [(record, version)]

    def fence(self) -> list[Versioned]:
        if not self.brokers:
            return []
        broker = self.random.choice(list(self.brokers))
        cls = self.random.choice((FenceBrokerRecord, UnfenceBrokerRecord))
        return [(cls(broker, self.brokers[broker]), 0)]

    def register_controller(self) -> list[Versioned]:
        record = RegisterControllerRecord(
            controller_id=self.random.choice(NODES),
            incarnation_id=self.uuid(),
            zk_migration_ready=self.random.random() < 0.2,
            end_points=[ControllerEndpoint(name, "c", 9093, 0) for name in self.some(("C", "D"), 1)],
            features=[ControllerFeature("metadata.version", 1, self.random.randint(15, 33))],
        )
        return [(record, 0)]

    def unregister_controller(self) -> list[Versioned]:
        return [(UnregisterControllerRecord(self.random.choice(NODES)), 0)]

    # --- Topics

    def create_topic(self) -> list[Versioned]:
        name = f"{self.word()}{self.random.randint(0, 9)}"
        if name in self.topics.values():
            return []
        topic_id = self.uuid()
        self.topics[topic_id] = name
        records: list[Versioned] = [(TopicRecord(name, topic_id), 0)]
        if self.random.random() < 0.5:
            records.append((ConfigRecord(2, name, "cleanup.policy", "compact"), 0))
        ids = list(range(self.random.randint(0, 5)))
        if self.random.random() < 0.1:
            self.random.shuffle(ids)
        return records + [self.partition(topic_id, partition_id) for partition_id in ids]

    def partition(self, topic_id: bytes, partition_id: int) -> Versioned:
        replicas = self.some(NODES, 1)
        self.partitions[topic_id, partition_id] = replicas
        isr = tuple(self.some(replicas))
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=tuple(replicas),
            isr=isr,
            removing_replicas=tuple(self.some(replicas)) if self.random.random() < 0.2 else (),
            adding_replicas=tuple(self.some(replicas)) if self.random.random() < 0.2 else (),
            leader=self.random.choice((*isr, -1)),
            leader_recovery_state=int(self.random.random() < 0.2),
            leader_epoch=self.random.randint(0, 1000),
            partition_epoch=self.random.randint(0, 1000),
        )
        if self.at.directory_assignment_supported:
            record.directories = self.directories(replicas)
        if self.at.elr_supported and self.random.random() < 0.4:
            record.eligible_leader_replicas = tuple(self.some(set(replicas) - set(isr))) or None
            record.last_known_elr = tuple(self.some(replicas)[:1]) or None
        return record, self.at.partition_record_version

    def directories(self, replicas: list[int]) -> tuple[bytes, ...]:
        return tuple(
            self.random.choice((MIGRATING, UNASSIGNED, LOST, *self.log_dirs.get(replica, ()) * 2))
            for replica in replicas
        )

    def change_partition(self) -> list[Versioned]:
        if not self.partitions:
            return []
        random = self.random
        topic_id, partition_id = key = random.choice(list(self.partitions))
        replicas = self.partitions[key]
        record = PartitionChangeRecord(partition_id, topic_id)
        if random.random() < 0.3:
            self.partitions[key] = replicas = self.some(NODES, 1)
            record.replicas = tuple(replicas)
        if self.at.directory_assignment_supported and (record.replicas is not None or random.random() < 0.3):
            record.directories = self.directories(replicas)
        for name in ("isr", "removing_replicas", "adding_replicas"):
            if random.random() < 0.4:
                setattr(record, name, tuple(self.some(replicas)))
        if random.random() < 0.5:
            record.leader = random.choice((-1, *replicas))
        if random.random() < 0.2:
            record.leader_recovery_state = random.choice((0, 1))
        for name in ("eligible_leader_replicas", "last_known_elr") if self.at.elr_supported else ():
            if random.random() < 0.3:
                setattr(record, name, tuple(self.some(replicas)))
        return [(record, self.at.partition_change_record_version)]

    def remove_topic(self) -> list[Versioned]:
        if not self.topics or self.random.random() < 0.5:
            return []
        topic_id = self.random.choice(list(self.topics))
        del self.topics[topic_id]
        self.partitions = {key: value for key, value in self.partitions.items() if key[0] != topic_id}
        return [(RemoveTopicRecord(topic_id), 0)]

    def clear_elr(self) -> list[Versioned]:
        names = [*self.topics.values(), ""]
        return [(ClearElrRecord(self.random.choice(names)), 0)]

    # --- The rest

    def config(self) -> list[Versioned]:
        resource_type, name = self.random.choice((2, 4, 16, 32)), self.word()
        if resource_type == 2:
            if not self.topics:
                return []
            name = self.random.choice(list(self.topics.values()))
        value = self.random.choice((None, "1", "true", ""))
        config = self.random.choice(("a", "b", "remote.storage.enable"))
        return [(ConfigRecord(resource_type, name, config, value), 0)]

    def quota(self) -> list[Versioned]:
        kinds = self.some(("user", "client-id", "ip"), 1)
        entity = [EntityData(kind, self.random.choice((None, "x", "y"))) for kind in kinds]
        key = self.random.choice(("producer_byte_rate", "request_percentage"))
        return [(ClientQuotaRecord(entity, key, self.random.random() * 1000, self.random.random() < 0.3), 0)]

    def acl(self) -> list[Versioned]:
        self.acls.append(self.uuid())
        hosts = ("*", "10.0.0.7", "10.0.0.0/8", "fd00::/8") if self.at.cidr_acl_supported else ("*", "10.0.0.7")
        record = AccessControlEntryRecord(
            self.acls[-1], self.random.choice((2, 3, 4)), self.word() or "*", self.random.choice((3, 4)), "User:u",
            self.random.choice(hosts), self.random.randint(2, 12), self.random.choice((2, 3)),
        )  # fmt: skip
        return [(record, 0)]

    def remove_acl(self) -> list[Versioned]:
        if not self.acls:
            return []
        return [(RemoveAccessControlEntryRecord(self.acls.pop(self.random.randrange(len(self.acls)))), 0)]

    def scram(self) -> list[Versioned]:
        keys = (self.random.randbytes(4), self.random.randbytes(4), self.random.randbytes(4))
        return [(UserScramCredentialRecord(self.word(), self.random.choice((1, 2)), *keys, 4096), 0)]

    def remove_scram(self) -> list[Versioned]:
        return [(RemoveUserScramCredentialRecord(self.word(), self.random.choice((1, 2))), 0)]

    def token(self) -> list[Versioned]:
        renewers = tuple(f"User:{name}" for name in self.some(("p", "q")))
        times = (1, self.random.randint(2, 9), self.random.randint(2, 9))
        return [(DelegationTokenRecord("User:o", "User:r", renewers, *times, self.word()), 0)]

    def remove_token(self) -> list[Versioned]:
        return [(RemoveDelegationTokenRecord(self.word()), 0)]

    def producer_ids(self) -> list[Versioned]:
        return [(ProducerIdsRecord(1, 1, self.random.randint(0, 9000)), 0)]

    def feature(self) -> list[Versioned]:
        levels = [("group.version", 1), ("transaction.version", 2), ("share.version", 2), ("streams.version", 1)]
        if self.at.elr_supported:
            levels.append(("eligible.leader.replicas.version", 1))
        name, highest = self.random.choice(levels)
        return [(FeatureLevelRecord(name, self.random.randint(0, highest)), 0)]

    def move_level(self) -> list[Versioned]:
        self.at = MetadataVersion.of_level(self.random.choice(self.moves))
        return self.first_batch()

    def zk_migration_state(self) -> list[Versioned]:
        if self.random.random() < 0.9:
            return []
        return [(ZkMigrationStateRecord(self.random.randint(0, 4)), 0)]

    def no_op(self) -> list[Versioned]:
        return [(NoOpRecord(), 0)]


def values(records: list[Versioned]) -> list[bytes]:
    return [encode_metadata_record(record, version) for record, version in records]
