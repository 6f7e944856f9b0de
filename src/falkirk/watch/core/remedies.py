"""What brings a loss or a blocker to an end, by its kind: a sentence, and a command to copy where there is one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping  # noqa: TC003 - a constant's type
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falkirk.ledger.findings import BlockerKind

if TYPE_CHECKING:
    from falkirk.ledger.findings import Blocker

_ELR: Final = "bring the partition's replicas back into the ISR; eligible leader replicas then go by themselves"
_ACL: Final = "name hosts instead of an address range"
_RECORD: Final = "delete the group, or go with `falkirk logdir`, which keeps the record in the undo bundle"


_TEXTS: Final[Mapping[str, str]] = {
    "elr_to_isr": _ELR,
    "last_known_leader_to_isr": _ELR,
    "eligible_leader_replicas": _ELR,
    "partition_without_replica": "start one of its replicas",
    "cordoned_log_dirs": "remove cordoned.log.dirs from the broker's configuration",
    "cidr_allow_acl": _ACL,
    "cidr_deny_acl": _ACL,
    "client_metrics_config": "delete the client metrics subscription",
    "group_config": "delete the group's configs",
    "unknown_config": "delete the config",
    "unknown_tagged_field": "go with `falkirk logdir`, which keeps the field in the undo bundle",
    "share_group": "delete the share group when its consumers have stopped",
    "committed_offsets": "delete the group, or have its members join by the classic protocol",
    "group_record": _RECORD,
}
_ENTITIES: Final = {2: "topics", 16: "client-metrics", 32: "groups"}
_OF_BLOCKERS: Final[Mapping[str, str]] = {
    BlockerKind.BELOW_FULL_ISR: "start the brokers whose replicas are missing, and wait until they are in sync",
    BlockerKind.UNSUPPORTING_NODE: "replace its binary by one that runs the level; unregister a broker that is gone "
    "for good",
    BlockerKind.SILENT_NODE: "start it, or make it reachable from here",
    BlockerKind.UNREGISTERED_VOTER: "end the lift that it belongs to, or start the controller anew",
    BlockerKind.NO_WAY: "docs/how-to/go-down-offline.md has the steps",
}
_LACKING_REPLICAS: Final = frozenset({"elr_to_isr", "last_known_leader_to_isr", "eligible_leader_replicas"})
_SEE_RUNBOOK: Final = "docs/runbooks/blockers.md has what to do"
_OTHERWISE: Final = "see what would be lost, and accept it or undo the change"


class Remedy(NamedTuple):
    """A sentence, and a command."""

    text: str
    command: str | None


def remedy_of(kind: str, fields: Mapping[str, Any], connection: str) -> Remedy:  # Any: JSON values
    """Return what ends a loss of a kind; `fields` are those of its object, `connection` the options of a tool."""
    return Remedy(_TEXTS.get(kind, _OTHERWISE), _command(kind, fields, connection))


def remedy_of_blocker(blocker: Blocker, connection: str, *, is_fenced: bool) -> Remedy:
    """Return what settles a blocker; `is_fenced`: it is about a broker that is fenced, so it may be gone."""
    command = None
    if blocker.kind is BlockerKind.BELOW_FULL_ISR:
        command = _lacking_replicas(connection)
    elif blocker.kind is BlockerKind.UNSUPPORTING_NODE and is_fenced:
        command = f"falkirk brokers unregister {connection} --id {blocker.fields['node_id']}"
    elif blocker.kind in {BlockerKind.SILENT_NODE, BlockerKind.UNREGISTERED_VOTER}:
        command = f"falkirk quorum describe {connection}"
    return Remedy(_OF_BLOCKERS.get(blocker.kind, _SEE_RUNBOOK), command)


def _command(kind: str, fields: Mapping[str, Any], connection: str) -> str | None:  # Any: JSON values
    if kind in _LACKING_REPLICAS:
        return _lacking_replicas(connection)
    if kind == "cordoned_log_dirs":
        broker = shlex.quote(str(fields["broker"]))
        return (
            f"kafka-configs.sh {connection} --alter --entity-type brokers --entity-name {broker} "
            "--delete-config cordoned.log.dirs"
        )
    if kind in {"client_metrics_config", "group_config", "unknown_config"}:
        entity = _ENTITIES.get(fields["resource_type"], "brokers")
        return (
            f"kafka-configs.sh {connection} --alter --entity-type {entity} "
            f"--entity-name {shlex.quote(str(fields['resource']))} --delete-config {shlex.quote(str(fields['config']))}"
        )
    if kind == "share_group":
        return f"kafka-share-groups.sh {connection} --delete --group {shlex.quote(str(fields['group']))}"
    if kind == "committed_offsets":
        return f"falkirk groups delete {connection} --group {shlex.quote(str(fields['group']))}"
    return None


def _lacking_replicas(connection: str) -> str:
    return f"kafka-topics.sh {connection} --describe --under-replicated-partitions"
