"""What brings a loss to an end, by its kind: a sentence, and a command to copy where there is one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping  # noqa: TC003 - a constant's type
from typing import Any, Final, NamedTuple

_BOOTSTRAP: Final = "--bootstrap-server BROKERS"
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
_OTHERWISE: Final = "see what would be lost, and accept it or undo the change"


class Remedy(NamedTuple):
    """A sentence, and a command; BROKERS in it stands for the bootstrap servers."""

    text: str
    command: str | None


def remedy_of(kind: str, fields: Mapping[str, Any]) -> Remedy:  # Any: JSON values
    """Return what ends a loss of a kind; `fields` are those of its object."""
    return Remedy(_TEXTS.get(kind, _OTHERWISE), _command(kind, fields))


def _command(kind: str, fields: Mapping[str, Any]) -> str | None:  # Any: JSON values
    if kind == "cordoned_log_dirs":
        broker = shlex.quote(str(fields["broker"]))
        return (
            f"kafka-configs.sh {_BOOTSTRAP} --alter --entity-type brokers --entity-name {broker} "
            "--delete-config cordoned.log.dirs"
        )
    if kind in {"client_metrics_config", "group_config", "unknown_config"}:
        entity = _ENTITIES.get(fields["resource_type"], "brokers")
        return (
            f"kafka-configs.sh {_BOOTSTRAP} --alter --entity-type {entity} "
            f"--entity-name {shlex.quote(str(fields['resource']))} --delete-config {shlex.quote(str(fields['config']))}"
        )
    if kind == "share_group":
        return f"kafka-share-groups.sh {_BOOTSTRAP} --delete --group {shlex.quote(str(fields['group']))}"
    if kind == "committed_offsets":
        return f"falkirk groups delete {_BOOTSTRAP} --group {shlex.quote(str(fields['group']))}"
    return None
