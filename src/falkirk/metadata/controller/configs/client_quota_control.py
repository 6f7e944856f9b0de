"""Client quotas: of users, client ids, addresses and their defaults. Source: KIP-546, KIP-599, KIP-612."""

from __future__ import annotations

import ipaddress
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.configuration_control import RECORDS_PER_REQUEST_MAX
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ClientQuotaRecord
from falkirk.protocol.messages.client_quota_record import EntityData
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.records.record_key import QuotaEntity
    from falkirk.slices import Slices

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"


_HOST_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_ALL_DIGITS: Final = re.compile(r"[0-9.]+")
_INT_MAX: Final = (1 << 31) - 1
_LONG_MAX: Final = (1 << 63) - 1
# The largest whole number that a quota takes; None: any number.
_USER_AND_CLIENT_QUOTAS: Final[Mapping[str, int | None]] = {
    "consumer_byte_rate": _LONG_MAX,
    "controller_mutation_rate": None,
    "producer_byte_rate": _LONG_MAX,
    "request_percentage": None,
}
_IP_QUOTAS: Final[Mapping[str, int | None]] = {"connection_creation_rate": _INT_MAX}
# As in Kafka: what is nearer to a whole number is one.
_FRACTION_MAX: Final = 1e-6


class ClientQuotaControl:
    """Validates changes of client quotas and returns their records (KIP-546)."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def alter_client_quotas(
        self, alterations: Sequence[tuple[QuotaEntity, Sequence[tuple[str, float | None]]]]
    ) -> Slices[ControllerResult[dict[QuotaEntity, ApiError]]]:
        """Set quotas, or take them away where the value is None. All of an entity are changed or none.

        Differs from Kafka: of an entity that stands twice in the request nothing is changed; Kafka refuses it too, but
        writes what it said first.
        """
        times = Counter(entity for entity, _ in alterations)
        records: list[VersionedRecord] = []
        errors: dict[QuotaEntity, ApiError] = {}
        budget = SliceBudget()
        for entity, changes in alterations:
            if budget.spend(DECISION_VISITS * len(changes)):
                yield
            if times[entity] > 1:
                errors[entity] = _refused(f"The request has the entity {_text(entity)} twice.")
                continue
            errors[entity] = error = _alteration_error(entity, changes)
            if not error.is_failure:
                records += self._changes(entity, changes)
        if len(records) > RECORDS_PER_REQUEST_MAX:
            error = ApiError(ErrorCode.POLICY_VIOLATION, "The request would change too many quotas at once.")
            return ControllerResult((), dict.fromkeys(errors, error))
        return ControllerResult(tuple(records), errors)

    def _changes(self, entity: QuotaEntity, changes: Sequence[tuple[str, float | None]]) -> list[VersionedRecord]:
        current: Mapping[str, float] = self._state.image.client_quotas.entities.get(entity, {})
        return [
            VersionedRecord(
                ClientQuotaRecord(
                    entity=[EntityData(kind, name) for kind, name in entity],
                    key=key,
                    value=0.0 if value is None else value,
                    remove=value is None,
                ),
                0,
            )
            for key, value in changes
            if current.get(key) != value
        ]


def _alteration_error(entity: QuotaEntity, changes: Sequence[tuple[str, float | None]]) -> ApiError:
    error = _entity_error(entity)
    if error.is_failure:
        return error
    limits = _IP_QUOTAS if entity[0][0] == IP else _USER_AND_CLIENT_QUOTAS
    keys: set[str] = set()
    for key, value in changes:
        if key in keys:
            return _refused(f"The quota {key} of {_text(entity)} is twice in the request.")
        keys.add(key)
        if value is None:
            continue
        if key not in limits:
            return _refused(f"Invalid configuration key {key}")
        reason = _reason_invalid_value(key, value, limits[key])
        if reason is not None:
            return _refused(reason)
    return NO_ERROR


def _entity_error(entity: QuotaEntity) -> ApiError:
    if not entity:
        return _refused("Invalid empty client quota entity")
    for kind, name in entity:
        if kind not in {USER, CLIENT_ID, IP}:
            return _refused(f"Unhandled client quota entity type: {kind}")
        if name == "":
            return _refused(f"Empty {kind} not supported")
    names = dict(entity)
    if IP in names:
        if len(names) > 1:
            return _refused("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
        address = names[IP]
        if address is not None and not _is_address(address):
            return _refused(f"{address} is not a valid IP or resolvable host.")
    return NO_ERROR


def _is_address(text: str) -> bool:
    """Return whether the text may be an address. Differs from Kafka: a host name is not resolved."""
    # RFC 6761: no name of this domain can be resolved.
    if text.lower().endswith(".invalid"):
        return False
    if _HOST_NAME.fullmatch(text):
        return not _ALL_DIGITS.fullmatch(text) or _parses(text)
    return _parses(text)


def _parses(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _reason_invalid_value(key: str, value: float, value_max: int | None) -> str | None:
    # Differs from Kafka, which takes what is no number: it is no limit.
    if math.isnan(value) or (value_max is None and math.isinf(value)):
        return f"Quota {key} must be a finite number"
    if value <= 0.0:
        return f"Quota {key} must be greater than 0"
    if value_max is None:
        return None
    if value > value_max:
        return f"Proposed value for {key} is too large for {'an INT' if value_max == _INT_MAX else 'a LONG'}."
    return f"{key} cannot be a fractional value." if math.fmod(value, 1.0) > _FRACTION_MAX else None


def _refused(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def _text(entity: QuotaEntity) -> str:
    return ", ".join(f"{kind} {'<default>' if name is None else name}" for kind, name in entity)
