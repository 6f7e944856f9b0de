"""Loads classic groups from their one record. Both coordinators check the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.records.loader_rules import CoordinatorKind
from falkirk.protocol import codec
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.java_hash_map import chain_of
from falkirk.protocol.lax_reader import KafkaReader, ReadError
from falkirk.protocol.messages import ConsumerProtocolSubscription

if TYPE_CHECKING:
    from falkirk.coordinator.records.loader_rules import LoaderRules
    from falkirk.protocol.lax_reader import Fields


_CONSUMER = "consumer"
_VERSION_BYTES = 2


@dataclass(frozen=True, slots=True)
class ClassicGroup:
    """A loaded classic group; without a protocol type and members it is a simple group."""

    members: int = 0
    has_protocol_type: bool = False

    @property
    def is_simple(self) -> bool:
        """True if the group only holds offsets."""
        return not self.members and not self.has_protocol_type


def load_classic_group(value: Fields, rules: LoaderRules) -> ClassicGroup:
    """Return the group of a GroupMetadata value.

    Raises ReplayError if two members share an instance id, if one member id occurs three times (its protocols are then
    counted more often than there are members, and none seems supported by all), or if a consumer's subscription does
    not parse.
    """
    subscriptions: dict[str, bytes] = {}
    instances: set[str] = set()
    for number, member in enumerate(value["members"]):
        instance = member.get("group_instance_id")
        if instance is not None and instance in instances:
            raise ReplayError(f"static member {instance} is twice in the group")
        if instance is not None:
            instances.add(instance)
        if number != len(subscriptions):
            raise ReplayError(f"member {member['member_id']} has no protocol that all members have")
        subscriptions[member["member_id"]] = member["subscription"]
    if rules.refuses_bad_subscriptions and value["protocol_type"] == _CONSUMER and value["protocol"] is not None:
        _check_subscriptions(subscriptions, rules.kind)
    return ClassicGroup(len(subscriptions), bool(value["protocol_type"]))


def _check_subscriptions(subscriptions: dict[str, bytes], kind: CoordinatorKind) -> None:
    errors = {member_id: error for member_id, data in subscriptions.items() if (error := _subscription_error(data))}
    if not errors:
        return
    # A subscription that is cut off in a number makes the coordinator give up on all of them with a warning, any other
    # error throws: it counts which one it comes upon first.
    first = min(errors, key=lambda member_id: _place(member_id, len(subscriptions), kind))
    if not errors[first].underflow:
        raise ReplayError(f"subscription of member {first}: {errors[first]}")


def _subscription_error(data: bytes) -> ReadError | None:
    # Every version begins like version 0, and is read as that.
    try:
        codec.decode_prefix(ConsumerProtocolSubscription, 0, data, _VERSION_BYTES)
    except RemoteProtocolError:
        pass
    else:
        return None
    # Kafka's reader may still take it.
    try:
        reader = KafkaReader(data)
        reader.int16()
        reader.message(message_layout(ConsumerProtocolSubscription, 0))
    except ReadError as error:
        return error
    return None


def _place(member_id: str, members: int, kind: CoordinatorKind) -> int:
    """Return the bucket of a member in the JVM's hash map of members, which is iterated by bucket.

    The map doubles its 16 buckets when it is three quarters full: Java's beyond that, Scala's as soon as it is.
    """
    buckets = 16
    while members > buckets * 3 // 4 or (kind is CoordinatorKind.OLD and members == buckets * 3 // 4):
        buckets *= 2
    return chain_of(member_id, buckets)
