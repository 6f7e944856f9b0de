"""What a downgraded cluster must hold: its source's contents changed by the ledger and by nothing else.

The ledger is the document of `falkirk logdir downgrade --json`. Where an older release cannot express something that is
still there, this module names it; it never leaves a fact out of the comparison.
"""

import json
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

Document = dict[str, Any]  # Any: JSON values

# Kinds that a client cannot see: where partitions lie and who may lead them. `expected_replicas` looks at the latter.
_CONVERTED = {"elr_to_isr", "last_known_leader_to_isr"}
_UNSEEN = _CONVERTED | {"eligible_leader_replicas", "cordoned_log_dirs"}
# Still listed: what an older release makes of the address shows when somebody connects from it.
_STILL_LISTED = {"cidr_allow_acl", "cidr_deny_acl"}
# Told group by group under "groups".
_OF_GROUPS = {"group_record", "consumer_group", "share_group"}
# What Kafka's writer takes for a loss although nothing is there: see operator-differences.md.
_NO_LOSS = {"the cordoned log directories of one or more brokers"}
# Older readers of snapshots keep header and footer to themselves.
_CONTROL_RECORDS_FROM = (3, 8)
_NO_ZOOKEEPER_FROM = (4, 0)
_GROUP_CONFIGS_FROM = (4, 0)
_GROUP_CONFIG_LIST_FROM = (4, 1)
_GROUP_CONFIG_LIST = "list of configs of GROUP"
_GROUP_TYPES_FROM = (3, 8)
# The release before has such groups as an unstable feature: it loads and lists them, and says no more.
_SERVED_FROM = {"Share": (4, 1), "Streams": (4, 2)}
_SHARE_EPOCH_FROM = (4, 3)
# What the members of a type of group bring along; a classic group of another name has none of it.
_MODERN = ("group_epoch", "topology_epoch", "start_offsets")


class UnexplainedLossError(Exception):
    """A ledger has an entry whose effect is not known."""


def expected_answers(before: Document, ledger: Document) -> Document:
    """The expected answers of the target. Raises UnexplainedLossError for other kinds of loss."""
    release = _release(ledger)
    unknown = {loss["kind"] for loss in ledger["losses"]} - _UNSEEN - _STILL_LISTED - _OF_GROUPS
    if unknown:
        raise UnexplainedLossError(f"how would these show? {sorted(unknown)}")
    answers = deepcopy(before)
    answers["features"] = {name: level for name, level in ledger["features"]["after"].items() if level > 0}
    _without_configs(answers, ledger["inaccessible"])
    reported = {group["group"]: group for group in ledger["groups"]}
    groups = answers["groups"]["groups"]
    if reported.keys() != groups.keys():
        raise UnexplainedLossError(f"groups of one side only: {sorted(reported.keys() ^ groups.keys())}")
    seen = {name: _seen(groups[name], group, release) for name, group in reported.items()}
    answers["groups"]["groups"] = {name: group for name, group in seen.items() if group is not None}
    requested = [*answers["groups"]["groups"], *(name for name in before["configs"] if name.startswith("group:"))]
    if requested and release < _GROUP_CONFIGS_FROM:
        answers["unsupported"]["configs of groups"] = "InvalidRequestException"
    if release < _GROUP_CONFIG_LIST_FROM:
        answers["unsupported"][_GROUP_CONFIG_LIST] = "UnsupportedVersionException"
    return answers


def _without_configs(answers: Document, inaccessible: Iterable[Document]) -> None:
    configs = answers["configs"]
    for loss in inaccessible:
        if loss["kind"] not in ("group_config", "unknown_config"):
            raise UnexplainedLossError(f"how would this show? {loss}")
        resource = f"group:{loss['key_fields']['resource']}"
        if loss["kind"] == "unknown_config" and resource in configs:
            # A broker keeps the value of a name that it does not know to itself.
            configs[resource][loss["key_fields"]["config"]] = "(sensitive)"
            continue
        if resource not in configs and _GROUP_CONFIG_LIST in answers["unsupported"]:
            # Of a group without any other record: the source has its configs too, but cannot list them.
            continue
        del configs[resource][loss["key_fields"]["config"]]
        if not configs[resource]:
            del configs[resource]


def _seen(before: Document, reported: Document, release: tuple[int, ...]) -> Document | None:
    """One group as the target reports it; None if it does not list it."""
    lost = reported["lost"]
    if "committed_offsets" in lost or "pending_offsets" in lost:
        raise UnexplainedLossError(f"offsets of a group are not served: {reported}")
    group = deepcopy(before)
    if "group" in lost:
        if not group.get("committed"):
            return None
        # What is left are offsets, and those a classic group without members may have.
        for name in _MODERN:
            group.pop(name, None)
        group |= {
            "type": "Classic",
            "state": "Empty",
            "protocol_type": "",
            "assignor": "",
            "members": [],
            "simple": True,
        }
    elif release < _SERVED_FROM.get(group["type"], ()):
        for name in (*_MODERN, "members"):
            group.pop(name, None)
        group["state"] = "unsupported"
    elif group["type"] == "Share" and release < _SHARE_EPOCH_FROM and group["group_epoch"] == 1:
        # Never a member: its epoch stands in no record, and these releases count from 0.
        group["group_epoch"] = 0
    if release < _GROUP_TYPES_FROM:
        # A client takes a group for simple only where it is told the type.
        group |= {"type": "untold", "simple": False}
    return group


def expected_replicas(before: Document, ledger: Document) -> dict[str, list[int]]:
    """The in-sync replicas that the ledger assigns to partitions without any, by `<topic>-<partition>`."""
    names = {topic["id"]: name for name, topic in before["topics"].items()}
    return {
        f"{names[loss['key_fields']['topic_id']]}-{loss['key_fields']['partition']}": loss["after"]["isr"]
        for loss in ledger["losses"]
        if loss["kind"] in _CONVERTED
    }


def expected_image(lines: Iterable[Document], ledger: Document) -> list[str]:
    """The image that the target must read, in the form of `image_lines`, from Kafka's own lines of the source's image.

    The latter come from `load_snapshot`, written at the target's level.
    """
    release = _release(ledger)
    converted = {
        (loss["key_fields"]["topic_id"], loss["key_fields"]["partition"]): loss["after"]
        for loss in ledger["losses"]
        if loss["kind"] in _CONVERTED
    }
    unread = {
        (loss["key_fields"]["resource"], loss["key_fields"]["config"])
        for loss in ledger["inaccessible"]
        if loss["kind"] == "group_config"
    }
    features = ledger["features"]["after"]
    expected: list[Document] = [
        {"type": "FEATURE_LEVEL_RECORD", "version": 0, "data": {"name": name, "featureLevel": level}}
        for name, level in features.items()
        if name != "kraft.version" and level > 0
    ]
    if release < _NO_ZOOKEEPER_FROM:
        # 3.x always writes the state of a migration, 4.x never: see operator-differences.md.
        expected.append({"type": "ZK_MIGRATION_STATE_RECORD", "version": 0, "data": {"zkMigrationState": 0}})
    for line in deepcopy(list(lines)):
        data = line.get("data", {})
        match line.get("type", line.get("control", "loss")):
            case "FEATURE_LEVEL_RECORD" | "ZK_MIGRATION_STATE_RECORD":
                continue
            case "SnapshotHeaderRecord" | "SnapshotFooterRecord" if release < _CONTROL_RECORDS_FROM:
                continue
            case "KRaftVersionRecord" | "VotersRecord" if not features.get("kraft.version"):
                continue
            case "loss" if line["loss"] in _NO_LOSS:
                continue
            case "PARTITION_RECORD" if (data["topicId"], data["partitionId"]) in converted:
                after = converted[data["topicId"], data["partitionId"]]
                data |= {"isr": after["isr"], "leader": after["leader"]}
                if after["leader_recovery_state"]:
                    data["leaderRecoveryState"] = after["leader_recovery_state"]
            case "CONFIG_RECORD" if (data["resourceName"], data["name"]) in unread:
                # The type of resource that the release does not know; its next snapshot loses it.
                data["resourceType"] = 0
        expected.append(line)
    return image_lines(expected)


def image_lines(lines: Iterable[Document]) -> list[str]:
    """Kafka's lines of an image in one order: the order of features and listeners depends on the release."""
    found = []
    for line in deepcopy(list(lines)):
        data = line.get("data", {})
        if line.get("control") == "SnapshotHeaderRecord":
            # When the log was written that the snapshot stands for: another one for each snapshot of a log.
            del data["lastContainedLogTimestamp"]
        for name in ("features", "endPoints"):
            if name in data:
                data[name].sort(key=lambda entry: str(entry["name"]))
        found.append(json.dumps(line, sort_keys=True))
    return sorted(found)


def _release(ledger: Document) -> tuple[int, ...]:
    return tuple(int(part) for part in ledger["to"]["release"].split("."))
