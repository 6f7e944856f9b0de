"""What a cluster's Admin client would be told, computed from an image, in the form of the recorded answers."""

import re
from typing import Any

from falkirk.metadata.image.acls import Acl
from falkirk.metadata.image.metadata_image import MetadataImage
from falkirk.metadata.image.partition import Partition
from falkirk.protocol.uuid import uuid_text

RESOURCE_TYPES = {2: "TOPIC", 3: "GROUP", 4: "CLUSTER", 5: "TRANSACTIONAL_ID", 6: "DELEGATION_TOKEN", 7: "USER"}
PATTERN_TYPES = {3: "LITERAL", 4: "PREFIXED"}
OPERATIONS = {
    2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE", 9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE", 13: "CREATE_TOKENS", 14: "DESCRIBE_TOKENS",
}  # fmt: skip
PERMISSIONS = {2: "DENY", 3: "ALLOW"}
CONFIG_TYPES = {2: "TOPIC", 4: "BROKER", 16: "CLIENT_METRICS", 32: "GROUP"}
MECHANISMS = {1: "SCRAM_SHA_256", 2: "SCRAM_SHA_512"}

COMPARED = ("finalizedFeatures", "topics", "topicCount", "partitionCount", "dynamicConfigs", "acls", "scram", "quotas")


def answers(image: MetadataImage, *, kraft_version: int) -> dict[str, Any]:
    topics = {
        topic.name: {
            "id": uuid_text(topic.topic_id),
            "internal": topic.name in {"__consumer_offsets", "__transaction_state", "__share_group_state"},
            "partitions": [
                {"p": number, "leader": item.leader, "replicas": list(item.replicas), "isr": list(item.isr)}
                for number, item in topic.items()
            ],
        }
        for topic in image.topics
    }
    configs: dict[str, dict[str, str]] = {}
    for resource, name, value in image.configs:
        configs.setdefault(f"{CONFIG_TYPES[resource.resource_type]}:{resource.resource_name}", {})[name] = value
    scram: dict[str, list[str]] = {}
    for user, credential in sorted(image.scram.credentials.items()):
        scram.setdefault(user.name, []).append(f"{MECHANISMS[user.mechanism]}:{credential.iterations}")
    quotas: dict[str, dict[str, float]] = {}
    for entity, key, value in image.client_quotas:
        who = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in entity)
        quotas.setdefault(f"{{{who}}}", {})[key] = value
    return {
        "finalizedFeatures": image.features.levels(kraft_version=kraft_version),
        "topics": topics,
        "topicCount": len(topics),
        "partitionCount": image.topics.partition_count,
        "dynamicConfigs": configs,
        "acls": sorted(map(acl_text, image.acls.acls.values())),
        "scram": scram,
        "quotas": quotas,
    }


def expected(written: dict[str, Any]) -> dict[str, Any]:
    """Select from recorded answers what can be computed from an image."""
    quotas = {}
    for who, values in written["quotas"].items():
        parts = sorted(who.strip("{}").split(", "))
        quotas[f"{{{', '.join(parts)}}}"] = values
    features = {name: level for name, level in written["finalizedFeatures"].items() if level}
    return {name: written[name] for name in COMPARED} | {
        "acls": sorted(written["acls"]),
        "quotas": quotas,
        "finalizedFeatures": features,
    }


def acl_text(acl: Acl) -> str:
    pattern = f"resourceType={RESOURCE_TYPES[acl.resource_type]}, name={acl.resource_name}"
    entry = f"principal={acl.principal}, host={acl.host}, operation={OPERATIONS[acl.operation]}"
    return (
        f"(pattern=ResourcePattern({pattern}, patternType={PATTERN_TYPES[acl.pattern_type]}), "
        f"entry=({entry}, permissionType={PERMISSIONS[acl.permission_type]}))"
    )


def partition_of_text(text: str) -> tuple[int, dict[str, Any]]:
    """Parse `(partition=0, leader=..., replicas=..., isr=..., elr=..., lastKnownElr=...)`."""
    match = re.fullmatch(
        r"\(partition=(\d+), leader=(.*?), replicas=(.*), isr=(.*), elr=(.*), lastKnownElr=(.*)\)", text
    )
    assert match is not None, text
    leader, *lists = match.groups()[1:]
    replicas, isr, elr, last_known_elr = ([int(node) for node in re.findall(r"\(id: (-?\d+) ", part)] for part in lists)
    leaders = [int(node) for node in re.findall(r"\(id: (-?\d+) ", leader)]
    return int(match.group(1)), {
        "leader": leaders[0] if leaders else -1,
        "replicas": replicas,
        "isr": isr,
        "elr": elr,
        "last_known_elr": last_known_elr,
    }


def partition_answer(partition: Partition) -> dict[str, Any]:
    return {
        "leader": partition.leader,
        "replicas": list(partition.replicas),
        "isr": list(partition.isr),
        "elr": list(partition.eligible_leader_replicas),
        "last_known_elr": list(partition.last_known_elr),
    }
