"""Access control lists: what may be created, what filters delete. Source: KIP-801, KIP-290 (prefixes)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.acls.acl_hosts import parse_range
from falkirk.metadata.acls.acl_types import (
    CLUSTER_NAME,
    WILDCARD,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from falkirk.metadata.controller.configs.configuration_control import RECORDS_PER_REQUEST_MAX
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RemoveAccessControlEntryRecord
from falkirk.protocol.uuid import random_uuid
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.metadata.acls.acl_filter import AclFilter
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.image.acls import Acl
    from falkirk.protocol.chance import Chance
    from falkirk.slices import Slices


_RESOURCE_TYPES: Final = frozenset(ResourceType) - {ResourceType.UNKNOWN, ResourceType.ANY}
_OPERATIONS: Final = frozenset(AclOperation) - {AclOperation.UNKNOWN, AclOperation.ANY}
_TOO_MANY: Final = ApiError(
    ErrorCode.POLICY_VIOLATION, f"A request may not change more than {RECORDS_PER_REQUEST_MAX} ACLs."
)
# The operation came with the version of InitProducerId that can ask for it (KIP-939).
_INIT_PRODUCER_ID: Final = 22
_TWO_PHASE_COMMIT_SINCE: Final = 6


@dataclass(frozen=True, slots=True)
class DeletedAcls:
    """The ACLs that one filter deleted, sorted by id, or the error that kept it from deleting."""

    acls: "tuple[Acl, ...]" = ()
    error: ApiError = NO_ERROR


class AclControl:
    """Creates and deletes ACLs (KIP-801)."""

    def __init__(self, state: ControllerState, settings: ControllerSettings, random: Chance) -> None:
        self._state = state
        self._random = random
        kraft = settings.release.kraft
        self._knows_ranges = any(version.cidr_acl_supported for version in kraft.metadata_versions)
        producer_ids = settings.release.apis[_INIT_PRODUCER_ID].versions
        self._knows_two_phase_commit = producer_ids is not None and _TWO_PHASE_COMMIT_SINCE in producer_ids

    def create_acls(self, acls: Sequence[Acl]) -> Slices[ControllerResult[list[ApiError]]]:
        """Create entries; those that are there already, or stand twice in the request, are no error."""
        records: list[VersionedRecord] = []
        errors: list[ApiError] = []
        created: set[Acl] = set()
        budget = SliceBudget()
        for acl in acls:
            if budget.spend(DECISION_VISITS):
                yield
            error = self._acl_error(acl)
            errors.append(error)
            if error.is_failure or acl in created or acl in self._state.existing_acls:
                continue
            created.add(acl)
            records.append(VersionedRecord(*acl.to_record(self._new_id())))
        if len(records) > RECORDS_PER_REQUEST_MAX:
            return ControllerResult((), [_TOO_MANY] * len(errors))
        return ControllerResult(tuple(records), errors)

    def delete_acls(self, filters: Iterable[AclFilter]) -> Slices[ControllerResult[list[DeletedAcls]]]:
        """Delete what filters match. An entry that several match is in the answer to each and deleted once."""
        records: dict[bytes, VersionedRecord] = {}
        results: list[DeletedAcls] = []
        budget = SliceBudget()
        acls = sorted(self._state.image.acls.acls.items(), key=lambda item: item[0])
        for acl_filter in filters:
            if budget.spend(DECISION_VISITS):
                yield
            if acl_filter.is_unknown:
                reason = "The filter asks for something that this release does not know."
                results.append(DeletedAcls(error=ApiError(ErrorCode.INVALID_REQUEST, reason)))
                continue
            matching = []
            for acl_id, acl in acls:
                if acl_filter.matches(acl):
                    matching.append((acl_id, acl))
                if budget.spend(1):
                    yield
            if len(records) + sum(acl_id not in records for acl_id, _ in matching) > RECORDS_PER_REQUEST_MAX:
                results.append(DeletedAcls(error=_TOO_MANY))
                continue
            for acl_id, _ in matching:
                records[acl_id] = VersionedRecord(RemoveAccessControlEntryRecord(acl_id), 0)
            results.append(DeletedAcls(tuple(acl for _, acl in matching)))
        return ControllerResult(tuple(records.values()), results)

    def _new_id(self) -> bytes:
        while True:
            acl_id = random_uuid(self._random)
            if acl_id not in self._state.image.acls.acls:
                return acl_id

    def _acl_error(self, acl: Acl) -> ApiError:
        reason = self._wrong_number(acl)
        if reason is None and not acl.resource_name:
            reason = "Resource name should not be empty."
        if reason is None and acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
            reason = f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}."
        if reason is None and ":" not in acl.principal:
            reason = f"Principal '{acl.principal}' is not of the form type:name."
        if reason is None and not acl.host:
            reason = "Host should not be empty."
        if reason is not None:
            return ApiError(ErrorCode.INVALID_REQUEST, reason)
        return self._host_error(acl.host)

    def _wrong_number(self, acl: Acl) -> str | None:
        if acl.resource_type not in _RESOURCE_TYPES:
            return f"Invalid resourceType {acl.resource_type}."
        if acl.pattern_type not in {PatternType.LITERAL, PatternType.PREFIXED}:
            return f"Invalid patternType {acl.pattern_type}."
        is_unknown = acl.operation == AclOperation.TWO_PHASE_COMMIT and not self._knows_two_phase_commit
        if acl.operation not in _OPERATIONS or is_unknown:
            return f"Invalid operation {acl.operation}."
        if acl.permission_type not in {AclPermissionType.DENY, AclPermissionType.ALLOW}:
            return f"Invalid permissionType {acl.permission_type}."
        return None

    def _host_error(self, host: str) -> ApiError:
        """Check a range of addresses; to releases before those a host with a slash is a name like any other."""
        if host == WILDCARD or "/" not in host or not self._knows_ranges:
            return NO_ERROR
        at = self._state.metadata_version
        if not at.cidr_acl_supported:
            reason = f"Ranges of hosts need metadata.version 4.4-IV1, the cluster is at {at}."
            return ApiError(ErrorCode.UNSUPPORTED_VERSION, reason)
        if parse_range(host) is None:
            return ApiError(ErrorCode.INVALID_REQUEST, f"Host '{host}' is not a range of addresses.")
        return NO_ERROR
