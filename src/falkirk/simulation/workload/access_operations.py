"""Operations on an administrator's own users: quotas, SCRAM credentials, ACLs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.alter_user_scram_credentials_request import ScramCredentialUpsertion
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter
from falkirk.simulation.history.write_history import QUOTA, SCRAM_SHA_256, Register
from falkirk.simulation.workload.operation import Operation

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance
    from falkirk.simulation.history.write_history import History

_SCRAM_ITERATIONS_MIN: Final = 4096
# Of Kafka's enumerations: ResourceType, PatternType, AclOperation, AclPermissionType.
_TOPIC: Final = 2
_LITERAL: Final = 3
_READ: Final = 3
_ALLOW: Final = 3
_USERS: Final = 3


class AccessOperations:
    """`name` is the prefix of all user names; `acl_host`: the host in ACLs."""

    def __init__(self, name: str, chance: Chance, history: History, *, acl_host: str = "*") -> None:
        self._acl_host = acl_host
        self._users = [f"{name}-user-{number}" for number in range(_USERS)]
        self._chance = chance
        self._history = history
        self._count = 0

    def choose(self) -> Operation:
        """Choose the next operation."""
        self._count += 1
        user = self._chance.choice(self._users)
        return self._chance.choice((self._set_quota, self._set_credential, self._change_acl))(user)

    def _set_quota(self, user: str) -> Operation:
        register = self._history.quotas.setdefault(user, Register())
        value = float(1000 + self._count)
        register.values.append(value)
        entry = EntryData(entity=[EntityData("user", user)], ops=[OpData(QUOTA, value)])
        return Operation(
            f"set {QUOTA} of {user} to {value}",
            AlterClientQuotasRequest(entries=[entry]),
            lambda response: response.entries[0].error_code,
            lambda _: register.acknowledge(),
        )

    def _set_credential(self, user: str) -> Operation:
        register = self._history.scram_iterations.setdefault(user, Register())
        iterations = _SCRAM_ITERATIONS_MIN + self._count
        register.values.append(iterations)
        credential = ScramCredentialUpsertion(user, SCRAM_SHA_256, iterations, b"salt", bytes(32))
        return Operation(
            f"set a SCRAM credential of {user} with {iterations} iterations",
            AlterUserScramCredentialsRequest(upsertions=[credential]),
            lambda response: response.results[0].error_code,
            lambda _: register.acknowledge(),
        )

    def _change_acl(self, user: str) -> Operation:
        register = self._history.acls.setdefault(user, Register())
        is_there = not (register.values and register.values[-1])
        register.values.append(is_there)
        principal = f"User:{user}"
        if is_there:
            creation = AclCreation(_TOPIC, "logs", _LITERAL, principal, self._acl_host, _READ, _ALLOW)
            return Operation(
                f"create an ACL of {user}",
                CreateAclsRequest(creations=[creation]),
                lambda response: response.results[0].error_code,
                lambda _: register.acknowledge(),
            )
        which = DeleteAclsFilter(_TOPIC, "logs", _LITERAL, principal, self._acl_host, _READ, _ALLOW)
        return Operation(
            f"delete the ACL of {user}",
            DeleteAclsRequest(filters=[which]),
            _deletion_error,
            lambda _: register.acknowledge(),
        )


def _deletion_error(response: DeleteAclsResponse) -> int:
    (result,) = response.filter_results
    return result.error_code or max((match.error_code for match in result.matching_acls), default=0)
