"""The object that a metadata record describes: the key under which losses, errors and differences name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from falkirk.protocol.messages.client_quota_record import EntityData
    from falkirk.protocol.schema import WireMessage

# (entity type, entity name or None for the default entity), sorted by type.
QuotaEntity = tuple[tuple[str, str | None], ...]


RESOURCE_TYPES: Final = {2: "topic", 4: "broker", 8: "broker-logger", 16: "client-metrics", 32: "group"}
SCRAM_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
IDENTITY_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "feature": ("feature",),
    "zk_migration_state": (),
    "broker": ("broker",),
    "controller": ("controller",),
    "topic": ("topic_id",),
    "partition": ("topic_id", "partition"),
    "topic_elr": ("topic",),
    "config": ("resource_type", "resource", "config"),
    "client_quota": ("entity", "quota"),
    "producer_ids": (),
    "acl": ("acl",),
    "scram_credential": ("user", "mechanism"),
    "delegation_token": ("token",),
}
"""Kind of object -> names of the parts of its identity."""
PHRASES: Final[Mapping[str, str]] = {
    kind: " ".join([kind.replace("_", " "), *(f"{{{index}}}" for index in range(len(names)))])
    for kind, names in IDENTITY_NAMES.items()
} | {
    "topic": "topic {0}",
    "partition": "topic {0} partition {1}",
    "config": "config {2} of {0} {1}",
    "client_quota": "quota {1} of {0}",
    "scram_credential": "user {0} {1}",
}
"""Kind of object -> phrase for an operator; the numbers stand for the parts of its identity."""
_OF_TOPICS: Final = frozenset(kind for kind, names in IDENTITY_NAMES.items() if names[:1] == ("topic_id",))


class Naming(NamedTuple):
    """How values of one kind are written: by name, or in the form of `otherwise` where they have none."""

    names: "Mapping[Any, str]"  # Any: int or str
    otherwise: str

    def of(self, value: object) -> str:
        """Return the name of a value."""
        name = self.names.get(value)
        return self.otherwise.format(value) if name is None else name


NAMINGS: Final[Mapping[str, Naming]] = {
    "resource_type": Naming(RESOURCE_TYPES, "resource of type {}"),
    "resource": Naming({"": "<default>"}, "{}"),
    "mechanism": Naming(SCRAM_MECHANISMS, "mechanism {}"),
}
"""Names of the values of some parts of identities; values of all other parts are written as they are."""


class ObjectKey(NamedTuple):
    """One object: its kind, and its identity among others of the kind (uuids as 16 bytes).

    Two records describe the same object exactly if their keys are equal.
    """

    kind: str
    identity: tuple[Any, ...]  # Any: str, int, None, uuid or quota entity, as the kind has it

    def fields(self) -> dict[str, Any]:  # Any: JSON values
        """Return the identity by name as JSON values: uuids in Kafka's text form."""
        names = IDENTITY_NAMES[self.kind]
        return {name: _plain(value) for name, value in zip(names, self.identity, strict=True)}

    def text(self, topic_name: str | None = None) -> str:
        """Return a phrase for an operator; topics and partitions are named by `topic_name` where it is known."""
        if topic_name is not None and self.kind in _OF_TOPICS:
            return PHRASES[self.kind].format(topic_name, *self.identity[1:])
        return PHRASES[self.kind].format(*map(_word, IDENTITY_NAMES[self.kind], self.identity))


def feature_key(name: str) -> ObjectKey:
    """Return the key of a finalized feature."""
    return ObjectKey("feature", (name,))


def broker_key(broker_id: int) -> ObjectKey:
    """Return the key of a broker."""
    return ObjectKey("broker", (broker_id,))


def controller_key(controller_id: int) -> ObjectKey:
    """Return the key of a controller."""
    return ObjectKey("controller", (controller_id,))


def topic_key(topic_id: bytes) -> ObjectKey:
    """Return the key of a topic."""
    return ObjectKey("topic", (topic_id,))


def partition_key(topic_id: bytes, partition_id: int) -> ObjectKey:
    """Return the key of a partition."""
    return ObjectKey("partition", (topic_id, partition_id))


def config_key(resource_type: int, resource_name: str, name: str) -> ObjectKey:
    """Return the key of one config of one resource."""
    return ObjectKey("config", (resource_type, resource_name, name))


def client_quota_key(entity: QuotaEntity, key: str) -> ObjectKey:
    """Return the key of one quota of one entity."""
    return ObjectKey("client_quota", (entity, key))


def acl_key(acl_id: bytes) -> ObjectKey:
    """Return the key of an ACL."""
    return ObjectKey("acl", (acl_id,))


def scram_key(user: str, mechanism: int) -> ObjectKey:
    """Return the key of a user's SCRAM credential."""
    return ObjectKey("scram_credential", (user, mechanism))


def delegation_token_key(token_id: str) -> ObjectKey:
    """Return the key of a delegation token."""
    return ObjectKey("delegation_token", (token_id,))


ZK_MIGRATION_STATE_KEY: Final = ObjectKey("zk_migration_state", ())
PRODUCER_IDS_KEY: Final = ObjectKey("producer_ids", ())


def quota_entity(entity: Sequence[EntityData]) -> QuotaEntity:
    """Return an entity in the form in which it is a key: each type once (the last one counts), sorted."""
    return tuple(sorted({data.entity_type: data.entity_name for data in entity}.items()))


def object_key(record: WireMessage) -> ObjectKey | None:
    """Return the object that a metadata record writes, changes or removes; None if there is none (NoOp, transactions).

    A ClearElrRecord names the topic by its name, or all topics by "".
    """
    key_of = _KEY_OF.get(type(record).__name__)
    return None if key_of is None else key_of(record)


_Key = ObjectKey
# Any: each function is called with records of the class that its name says, and no other.
_KEY_OF: Final[Mapping[str, Callable[[Any], ObjectKey]]] = {
    "RegisterBrokerRecord": lambda record: _Key("broker", (record.broker_id,)),
    "UnregisterBrokerRecord": lambda record: _Key("broker", (record.broker_id,)),
    "BrokerRegistrationChangeRecord": lambda record: _Key("broker", (record.broker_id,)),
    "FenceBrokerRecord": lambda record: _Key("broker", (record.id,)),
    "UnfenceBrokerRecord": lambda record: _Key("broker", (record.id,)),
    "RegisterControllerRecord": lambda record: _Key("controller", (record.controller_id,)),
    "UnregisterControllerRecord": lambda record: _Key("controller", (record.controller_id,)),
    "TopicRecord": lambda record: _Key("topic", (record.topic_id,)),
    "RemoveTopicRecord": lambda record: _Key("topic", (record.topic_id,)),
    "PartitionRecord": lambda record: _Key("partition", (record.topic_id, record.partition_id)),
    "PartitionChangeRecord": lambda record: _Key("partition", (record.topic_id, record.partition_id)),
    "ClearElrRecord": lambda record: _Key("topic_elr", (record.topic_name,)),
    "ConfigRecord": lambda record: _Key("config", (record.resource_type, record.resource_name, record.name)),
    "ClientQuotaRecord": lambda record: _Key("client_quota", (quota_entity(record.entity), record.key)),
    "ProducerIdsRecord": lambda _: PRODUCER_IDS_KEY,
    "FeatureLevelRecord": lambda record: _Key("feature", (record.name,)),
    "ZkMigrationStateRecord": lambda _: ZK_MIGRATION_STATE_KEY,
    "AccessControlEntryRecord": lambda record: _Key("acl", (record.id,)),
    "RemoveAccessControlEntryRecord": lambda record: _Key("acl", (record.id,)),
    "UserScramCredentialRecord": lambda record: _Key("scram_credential", (record.name, record.mechanism)),
    "RemoveUserScramCredentialRecord": lambda record: _Key("scram_credential", (record.name, record.mechanism)),
    "DelegationTokenRecord": lambda record: _Key("delegation_token", (record.token_id,)),
    "RemoveDelegationTokenRecord": lambda record: _Key("delegation_token", (record.token_id,)),
}


def _word(name: str, value: Any) -> Any:  # Any: part of an identity in, something to print out
    naming = NAMINGS.get(name)
    if naming is not None:
        return naming.of(value)
    if isinstance(value, tuple):
        return ", ".join(f"{kind} {'<default>' if entity_name is None else entity_name}" for kind, entity_name in value)
    return _plain(value)


def _plain(value: Any) -> Any:  # Any: part of an identity in, JSON value out
    if isinstance(value, bytes):
        return uuid_text(value)
    if isinstance(value, tuple):
        return dict(value)
    return value
