"""The enums of ACLs, by Kafka's numbers."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

WILDCARD: Final = "*"
"""As a name: every resource of the type; as a host: every host."""
WILDCARD_PRINCIPAL: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"
"""The name of the only resource of type CLUSTER."""


class ResourceType(IntEnum):
    """What an ACL protects. ANY is for filters alone."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How an ACL names what it protects. ANY and MATCH are for filters alone."""

    UNKNOWN = 0
    ANY = 1
    # In a filter: all patterns that would apply to a resource of this name.
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What is done to a resource. ANY is for filters alone."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermissionType(IntEnum):
    """Whether an ACL allows or denies. ANY is for filters alone."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3
