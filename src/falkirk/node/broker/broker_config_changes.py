"""Validates changes of broker configs before a broker forwards them.

The active controller stores broker configs without checking their values. So the broker refuses what it could not
apply, of its own configs and of the default of all brokers. Source: ConfigAdminManager.preprocess, DynamicBrokerConfig.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.config_validation import (
    CONFIGS_PER_RESOURCE_MAX,
    TOO_MANY_CONFIGS,
    is_known_resource_type,
)
from falkirk.metadata.controller.configs.configuration_control import changed_list
from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, TOPIC
from falkirk.metadata.requests.api_error import ApiError
from falkirk.node.broker.broker_config_limits import check_change
from falkirk.node.config.listener_changes import LIMITS, STORES, check_listeners
from falkirk.protocol.error_codes import ErrorCode, known_error
from falkirk.protocol.mapped_array import mapped_array
from falkirk.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from falkirk.protocol.messages import alter_configs_response as legacy
from falkirk.protocol.messages import incremental_alter_configs_response as incremental
from falkirk.slices import DECISION_VISITS, SliceBudget
from falkirk.versions.configs.definition import ConfigError, ConfigType, InvalidValueError
from falkirk.versions.configs.server import THROTTLES, definitions, dynamic_configs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.protocol.messages.alter_configs_request import AlterConfigsResource as LegacyResource
    from falkirk.protocol.messages.incremental_alter_configs_request import AlterConfigsResource
    from falkirk.protocol.schema import WireMessage
    from falkirk.slices import Slices
    from falkirk.versions.configs.definition import Definition
    from falkirk.versions.release import Release

SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,10}")
_LISTENER_CONFIG: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_PER_BROKER_CONFIGS: Final = frozenset(
    {
        "cordoned.log.dirs",
        "advertised.listeners",
        "listener.security.protocol.map",
        "listeners",
        "principal.builder.class",
    }
)


_REPORTERS: Final = "metric.reporters"
_EXCEPTION: Final = "org.apache.kafka.common.config.ConfigException"
_DYNAMIC: Final = "Invalid dynamic configuration"
_REPEATED: Final = ApiError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")


class RefusedChangeError(Exception):
    """A resource may not be changed so."""

    def __init__(self, message: str, error_code: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.error = ApiError(error_code, message)


@dataclass(frozen=True, slots=True)
class SplitRequest:
    """A request of which the broker refuses some resources, by index, and forwards `remaining`; None: no others."""

    request: AlterConfigsRequest | IncrementalAlterConfigsRequest
    refused: "Mapping[int, ApiError]"
    remaining: AlterConfigsRequest | IncrementalAlterConfigsRequest | None

    def complete(self, answer: WireMessage | None) -> WireMessage:
        """Return the response to the whole request, in its order; `answer` is that to the forwarded part."""
        errors: dict[tuple[int, str], ApiError] = {}
        if answer is not None:
            assert isinstance(answer, AlterConfigsResponse | IncrementalAlterConfigsResponse)
            for each in answer.responses:
                key = each.resource_type, each.resource_name
                errors[key] = ApiError(known_error(each.error_code), each.error_message)
        unknown = ApiError(ErrorCode.UNKNOWN_SERVER_ERROR)
        resources = _resources(self.request)

        def fields(index: int) -> tuple[int, str | None, int, str]:
            key = resources[index].resource_type, resources[index].resource_name
            return *(self.refused.get(index) or errors.get(key, unknown)), *key

        indexes = range(len(resources))
        if isinstance(self.request, AlterConfigsRequest):
            return AlterConfigsResponse(
                responses=mapped_array(lambda index: legacy.AlterConfigsResourceResponse(*fields(index)), indexes)
            )
        return IncrementalAlterConfigsResponse(
            responses=mapped_array(lambda index: incremental.AlterConfigsResourceResponse(*fields(index)), indexes)
        )


@dataclass(frozen=True, slots=True)
class BrokerConfigChanges:
    """The checks of one broker; `static_configs` is its server.properties."""

    release: "Release"
    node_id: int
    static_configs: "Mapping[str, str]"

    def split(
        self, request: AlterConfigsRequest | IncrementalAlterConfigsRequest, configs: ConfigsImage
    ) -> Slices[SplitRequest | None]:
        """Check a request; return None if all of it is to be forwarded unchanged."""
        refused = dict.fromkeys(_repeated(_resources(request)), _REPEATED)
        budget = SliceBudget()
        # Thousands of resources may have the same error.
        errors: dict[ApiError, ApiError] = {}
        for index, resource in enumerate(_resources(request)):
            if budget.spend(DECISION_VISITS):
                yield
            if index not in refused:
                try:
                    self._check(resource, configs, is_incremental=isinstance(request, IncrementalAlterConfigsRequest))
                except RefusedChangeError as error:
                    refused[index] = errors.setdefault(error.error, error.error)
        if not refused:
            return None
        left = [resource for index, resource in enumerate(_resources(request)) if index not in refused]
        if not left:
            return SplitRequest(request, refused, None)
        return SplitRequest(request, refused, type(request)(left, request.validate_only))  # type: ignore[arg-type]

    def _check(
        self, resource: LegacyResource | AlterConfigsResource, configs: ConfigsImage, *, is_incremental: bool
    ) -> None:
        """Raise RefusedChangeError if this broker, or any, cannot apply the change."""
        if len(resource.configs) > CONFIGS_PER_RESOURCE_MAX:
            raise RefusedChangeError(TOO_MANY_CONFIGS.message or "", TOO_MANY_CONFIGS.error_code)
        changes = [(config.name, getattr(config, "config_operation", SET), config.value) for config in resource.configs]
        names = [name for name, _, _ in changes]
        if len(set(names)) < len(names):
            raise RefusedChangeError("Error due to duplicate config keys")
        without_value = [name for name, operation, value in changes if value is None and operation != DELETE]
        if without_value:
            raise RefusedChangeError(f"Null value not supported for : {', '.join(without_value)}")
        kind, name = resource.resource_type, resource.resource_name
        if kind == BROKER_LOGGER and is_incremental:
            # Differs from Kafka: log levels cannot change at run time.
            raise RefusedChangeError("Log levels of this node cannot be changed.")
        if kind not in {BROKER, TOPIC} and not is_known_resource_type(kind, self.release):
            raise RefusedChangeError(f"Unknown resource type {kind}")
        if kind == BROKER:
            self._check_broker_name(name)
            before = self._valid(configs.of(BROKER, name), is_per_broker=bool(name)) if is_incremental else {}
            changed = self._changed(before, changes)
            self._check_broker_configs(changed, is_per_broker=bool(name))
            self._check_together(changed, configs, is_per_broker=bool(name))

    def _check_broker_name(self, name: str) -> None:
        if name and not _INTEGER.fullmatch(name):
            raise RefusedChangeError(f"Node id must be an integer, but it is: {name}")
        if name and int(name) != self.node_id:
            raise RefusedChangeError(f"Unexpected broker id, expected {self.node_id}, but received {name}")

    def _changed(self, before: Mapping[str, str], changes: Iterable[tuple[str, int, str | None]]) -> dict[str, str]:
        after = dict(before)
        for name, operation, value in changes:
            if operation == DELETE:
                after.pop(name, None)
                continue
            assert value is not None, "checked before"
            if operation == SET:
                after[name] = value
            elif operation in {APPEND, SUBTRACT}:
                after[name] = self._changed_list(after.get(name), name, operation, value)
            else:
                raise RefusedChangeError(f"Unknown operations type {operation}")
        return after

    def _changed_list(self, before: str | None, name: str, operation: int, value: str) -> str:
        definition = definitions(self.release).get(name)
        if definition is None or definition.type is not ConfigType.LIST:
            word = "append" if operation == APPEND else "subtract"
            message = f"Config value {word} is not allowed for config key: {name}"
            raise RefusedChangeError(message, ErrorCode.INVALID_CONFIG)
        return changed_list(definition.default_text or "" if before is None else before, operation, value)

    def _check_broker_configs(self, changed: Mapping[str, str], *, is_per_broker: bool) -> None:
        for message, names in (
            ("Cannot update these configs dynamically", self._static_only(changed)),
            (
                "These security configs can be dynamically updated only per-listener using the listener prefix",
                [name for name in changed if name in STORES],
            ),
        ):
            _refuse(message, names)
        try:
            for name, value in changed.items():
                self._parse(name, value)
        except ConfigError as error:
            raise RefusedChangeError(str(error)) from error
        if not is_per_broker:
            message = "Cannot update these configs at default cluster level, broker id must be specified"
            _refuse(message, [name for name in changed if _is_per_broker(name)])
        for name, value in changed.items():
            self._check_loaded(name, value)

    def _check_loaded(self, name: str, value: str) -> None:
        """Refuse classes that Kafka looks for when it applies a change; what is not Kafka's own is not there."""
        plain = _plain_name(name)
        definition = definitions(self.release).get(plain)
        reason = None
        if plain == _REPORTERS and not all(map(_is_kafkas, _entries(value))):
            reason = (
                f"Validation of dynamic config update of Set({_REPORTERS}) failed with class class "
                "kafka.server.DynamicMetricsReporters"
            )
        elif definition is not None and (missing := _missing_class(plain, definition, value)) is not None:
            reason = str(missing)
        if reason is not None:
            raise RefusedChangeError(f"Invalid value {_EXCEPTION}: {reason} for configuration {_DYNAMIC}")

    def _check_together(self, changed: Mapping[str, str], configs: ConfigsImage, *, is_per_broker: bool) -> None:
        """Check what this broker would have then: server.properties, the default of all brokers, its own."""
        default = self._valid(configs.of(BROKER, ""), is_per_broker=False)
        own = self._valid(configs.of(BROKER, str(self.node_id)), is_per_broker=True)
        before = {**self.static_configs, **self._readable(default), **self._readable(own)}
        layers = (default, changed) if is_per_broker else (changed, own)
        after = {**self.static_configs, **self._readable(layers[0]), **self._readable(layers[1])}
        try:
            check_change(before, after, self.release)
            check_listeners(before, after, self.release)
        except ConfigError as error:
            raise RefusedChangeError(str(error)) from error

    def _readable(self, configs: Mapping[str, str]) -> dict[str, str]:
        """Return the configs whose values parse: others are of no effect."""
        readable = {}
        for name, value in configs.items():
            with suppress(ConfigError):
                self._parse(name, value)
                readable[name] = value
        return readable

    def _valid(self, persisted: Mapping[str, str], *, is_per_broker: bool) -> dict[str, str]:
        """Return the stored configs except those that brokers ignore."""
        static_only = set(self._static_only(persisted))
        return {
            name: value
            for name, value in persisted.items()
            if name not in static_only and name not in STORES and (is_per_broker or not _is_per_broker(name))
        }

    def _static_only(self, names: Iterable[str]) -> list[str]:
        known, dynamic = definitions(self.release), dynamic_configs(self.release)
        return [name for name in names if name in known and name not in dynamic]

    def _parse(self, name: str, value: str) -> None:
        plain = _plain_name(name)
        definition = THROTTLES.get(plain) or definitions(self.release).get(plain)
        # Unknown keys may be a plugin's; keys that are not dynamic may be so for a listener.
        if definition is not None and (plain in THROTTLES or plain in dynamic_configs(self.release)):
            definition.parse(plain, value)
            missing = _missing_class(plain, definition, value)
            # For SASL's, Kafka looks later (`_check_loaded`).
            if missing is not None and not plain.startswith("sasl."):
                raise missing


def _repeated(resources: Sequence[LegacyResource | AlterConfigsResource]) -> set[int]:
    """Return the indexes of the resources that the request has more than once."""
    found: set[int] = set()
    places: dict[tuple[int, str], int] = {}
    for index, resource in enumerate(resources):
        first = places.setdefault((resource.resource_type, resource.resource_name), index)
        if first != index:
            found |= {first, index}
    return found


def _resources(
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
) -> list[LegacyResource | AlterConfigsResource]:
    return [*request.resources]


def _refuse(message: str, names: Iterable[str]) -> None:
    shown = ", ".join(sorted(names))
    if shown:
        raise RefusedChangeError(f"{message}: [{shown}]")


def _plain_name(name: str) -> str:
    """Return the key without the prefix of a listener."""
    base = _LISTENER_CONFIG.fullmatch(name)
    return name if base is None else base[1]


def _missing_class(name: str, definition: Definition, value: str) -> InvalidValueError | None:
    """Return the error of a class that is not Kafka's own; None for others, and for configs that name none."""
    if definition.type is not ConfigType.CLASS or _is_kafkas(value):
        return None
    return InvalidValueError(name, value, f"Class {value} could not be found.")


def _is_kafkas(name: str) -> bool:
    return name.startswith(("org.apache.kafka.", "kafka."))


def _is_per_broker(name: str) -> bool:
    base = _LISTENER_CONFIG.fullmatch(name)
    if base is not None:
        return base[1] not in LIMITS
    return name in _PER_BROKER_CONFIGS or name.startswith(("ssl.", "sasl."))


def _entries(text: str) -> list[str]:
    return [entry for entry in text.split(",") if entry]
