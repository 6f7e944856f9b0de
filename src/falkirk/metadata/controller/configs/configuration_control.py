"""Dynamic configs of topics, brokers, groups and client metrics.

Source: KIP-226, KIP-339 (incremental changes), KIP-714 (client metrics), KIP-848 (groups), KIP-966 (ELR).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.config_resolution import CLUSTER_DEFAULT, ConfigResolution, EffectiveConfig
from falkirk.metadata.controller.configs.config_validation import (
    CONFIGS_PER_RESOURCE_MAX,
    TOO_MANY_CONFIGS,
    configs_error,
)
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.configs import BROKER, TOPIC, ConfigResource
from falkirk.metadata.levels.feature_scrubbing import keep_leaders
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ClearElrRecord, ConfigRecord
from falkirk.slices import DECISION_VISITS, SliceBudget
from falkirk.versions.configs.definition import ConfigType
from falkirk.versions.configs.resources import topic_definitions
from falkirk.versions.configs.server import dynamic_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.slices import Slices
    from falkirk.versions.configs.definition import Definition

# Operations of an incremental change, by the numbers of IncrementalAlterConfigs.
SET: Final = 0
DELETE: Final = 1
APPEND: Final = 2
SUBTRACT: Final = 3

RECORDS_PER_REQUEST_MAX: Final = 10_000
"""As in Kafka: what one request does goes into one batch."""
_VALUE_LENGTH_MAX: Final = 32_767

Changes = dict[ConfigResource, dict[str, tuple[int, str | None]]]
"""By resource and config: an operation and its value."""
AlterConfigsResult = ControllerResult[dict[ConfigResource, ApiError]]


class ConfigurationControl:
    """Dynamic configs of topics, brokers, groups and client metrics."""

    def __init__(self, state: ControllerState, settings: ControllerSettings) -> None:
        self._state = state
        self._settings = settings
        self._resolution = ConfigResolution(
            release=settings.release, node_id=settings.node_id, static_configs=settings.static_configs
        )

    # --- What counts for a topic

    def topic_config(self, topic: str, name: str) -> str | None:
        """Return a topic config's effective value; None if it has no default, or the release does not know it.

        Order: the topic's own value, then this node's, the cluster's default, the static one, Kafka's default.
        """
        configs = self._state.image.configs
        effective = self._resolution.topic_config(configs, configs.of(TOPIC, topic), name)
        return None if effective is None else effective.value

    def min_insync_replicas(self, topic: str, *, replication_factor: int) -> int:
        """Return the effective min.insync.replicas, at most the replication factor."""
        configs = self._state.image.configs
        value = self._resolution.topic_value(configs, configs.of(TOPIC, topic), "min.insync.replicas")
        assert isinstance(value, int)
        return min(value, replication_factor)

    def is_unclean_election_enabled(self, topic: str) -> bool:
        """Return the effective unclean.leader.election.enable."""
        configs = self._state.image.configs
        value = self._resolution.topic_value(configs, configs.of(TOPIC, topic), "unclean.leader.election.enable")
        return value is True

    def effective_topic_configs(self, configs: Iterable[tuple[str, str | None]]) -> list[EffectiveConfig]:
        """Return all configs that a topic with these overrides has, by name, as CreateTopics answers them.

        Internal ones are among them only if they are set, as in DescribeConfigs.
        """
        overrides = {name: value for name, value in configs if value is not None}
        known = topic_definitions(self._settings.release)
        return [
            config
            for config in self._resolution.topic_configs(self._state.image.configs, overrides)
            if config.name in overrides or not known[config.name].is_internal
        ]

    def alter_topic_configs_for_creation(
        self, topic: str, configs: Iterable[tuple[str, str | None]]
    ) -> tuple[list[VersionedRecord], ApiError]:
        """Check the configs that a new topic is to have; give their records and NO_ERROR, or none and the error.

        As in Kafka a null value sets nothing.
        """
        resource = ConfigResource(TOPIC, topic)
        records, error = self._altered(resource, {name: (SET, value) for name, value in configs}, is_forwarded=False)
        return records, error

    # --- Changes

    def incremental_alter_configs(self, changes: Changes, *, is_forwarded: bool = False) -> Slices[AlterConfigsResult]:
        """Change single configs. All changes of a resource are made or none; each resource has an answer of its own."""
        records: list[VersionedRecord] = []
        errors: dict[ConfigResource, ApiError] = {}
        budget = SliceBudget()
        for resource, operations in changes.items():
            if budget.spend(DECISION_VISITS * (1 + len(operations))):
                yield
            changed, error = self._altered(resource, operations, is_forwarded=is_forwarded)
            errors[resource] = self._missing_resource_error(resource) if not error.is_failure else error
            if not errors[resource].is_failure:
                records += changed
        return (yield from self._result(records, errors))

    def legacy_alter_configs(
        self, configs: Mapping[ConfigResource, Mapping[str, str | None]], *, is_forwarded: bool = False
    ) -> Slices[AlterConfigsResult]:
        """Replace all configs of the resources (AlterConfigs)."""
        records: list[VersionedRecord] = []
        errors: dict[ConfigResource, ApiError] = {}
        budget = SliceBudget()
        for resource, given in configs.items():
            if budget.spend(DECISION_VISITS * (1 + len(given))):
                yield
            operations: dict[str, tuple[int, str | None]] = {name: (SET, value) for name, value in given.items()}
            operations |= {name: (DELETE, None) for name in self._current(resource) if name not in given}
            changed, error = self._altered(resource, operations, is_forwarded=is_forwarded)
            errors[resource] = self._missing_resource_error(resource) if not error.is_failure else error
            if not errors[resource].is_failure:
                records += changed
        return (yield from self._result(records, errors))

    def _clear_elr_records(self, records: Iterable[VersionedRecord]) -> Slices[list[VersionedRecord]]:
        """Return the records that clear ELRs after changes of min.insync.replicas, if ELR is on (KIP-966).

        A replica was eligible under the old minimum, so the ELR of that topic, or of all topics, is cleared. In a
        partition without in-sync replicas the formerly eligible ones become in-sync (see `keep_leaders`).
        """
        image = self._state.image
        if not image.features.is_elr_enabled:
            return []
        names = [
            record.resource_name if record.resource_type == TOPIC else ""
            for record, _ in records
            if isinstance(record, ConfigRecord) and record.name == "min.insync.replicas"
        ]
        topics = image.topics if "" in names else filter(None, map(image.topics.topic, names))
        cleared, budget = list[VersionedRecord](), SliceBudget()
        for topic in topics:
            cleared += keep_leaders(image, topic)
            if budget.spend(topic.partition_count):
                yield
        return [*cleared, *(VersionedRecord(ClearElrRecord(name), 0) for name in names)]

    def elr_safety_records(self) -> list[VersionedRecord]:
        """Return the config records that must precede the record that turns ELR on (KIP-966).

        With them min.insync.replicas is the same on all brokers, and known to the controller.
        """
        configs = self._state.image.configs
        records: list[VersionedRecord] = []
        name = "min.insync.replicas"
        if name not in configs.of(BROKER, CLUSTER_DEFAULT):
            records.append(min_insync_replicas_record(self._settings))
        records += [
            VersionedRecord(ConfigRecord(BROKER, resource.resource_name, name, None), 0)
            for resource in sorted(configs.resources)
            if resource.resource_type == BROKER and resource.resource_name and name in configs.resources[resource]
        ]
        return records

    def _current(self, resource: ConfigResource) -> Mapping[str, str]:
        return self._state.image.configs.of(*resource)

    def _result(
        self, records: list[VersionedRecord], errors: dict[ConfigResource, ApiError]
    ) -> Slices[AlterConfigsResult]:
        records += yield from self._clear_elr_records(records)
        if len(records) > RECORDS_PER_REQUEST_MAX:
            error = ApiError(ErrorCode.POLICY_VIOLATION, "The request would change too many configs at once.")
            return ControllerResult((), dict.fromkeys(errors, error))
        return ControllerResult(tuple(records), errors)

    def _altered(
        self, resource: ConfigResource, operations: Mapping[str, tuple[int, str | None]], *, is_forwarded: bool
    ) -> tuple[list[VersionedRecord], ApiError]:
        """Return the records of the changes, or why they are refused; whether the resource exists is not asked."""
        if sum([operation != DELETE for operation, _ in operations.values()]) > CONFIGS_PER_RESOURCE_MAX:
            return [], TOO_MANY_CONFIGS
        current = self._current(resource)
        configs = dict(current)
        records: list[VersionedRecord] = []
        for name, (operation, value) in operations.items():
            before = current.get(name)
            after, error = self._new_value(resource, name, operation, value)
            if not error.is_failure:
                error = self._config_error(resource, name, before, after, is_forwarded=is_forwarded)
            if error.is_failure:
                return [], error
            if after is None:
                configs.pop(name, None)
            else:
                configs[name] = after
            # Brokers take an unchanged value as a reason to read key stores and the like anew.
            if before != after or resource.resource_type == BROKER:
                record = ConfigRecord(resource.resource_type, resource.resource_name, name, after)
                records.append(VersionedRecord(record, 0))
        error = configs_error(resource, configs, image=self._state.image.configs, resolution=self._resolution)
        return ([], error) if error.is_failure else (records, NO_ERROR)

    def _new_value(
        self, resource: ConfigResource, name: str, operation: int, value: str | None
    ) -> tuple[str | None, ApiError]:
        if operation == SET:
            return value, NO_ERROR
        if operation == DELETE:
            return None, NO_ERROR
        if operation not in {APPEND, SUBTRACT} or value is None:
            what = "no value" if operation in {APPEND, SUBTRACT} else f"the unknown operation {operation}"
            return None, ApiError(ErrorCode.INVALID_REQUEST, f"A change of {name} has {what}.")
        definition = self._definition(resource.resource_type, name)
        if definition is None or definition.type is not ConfigType.LIST:
            word = "append to" if operation == APPEND else "subtract from"
            return None, ApiError(ErrorCode.INVALID_CONFIG, f"Cannot {word} {name}: its type is not LIST.")
        current = self._current(resource).get(name, definition.default_text or "")
        return changed_list(current, operation, value), NO_ERROR

    def _definition(self, resource_type: int, name: str) -> Definition | None:
        # As in Kafka, groups and client metrics have no lists that can be appended to.
        definitions = {TOPIC: topic_definitions, BROKER: dynamic_lists}.get(resource_type)
        return None if definitions is None else definitions(self._settings.release).get(name)

    def _config_error(
        self, resource: ConfigResource, name: str, before: str | None, after: str | None, *, is_forwarded: bool
    ) -> ApiError:
        """Check what holds for a config besides its own definition."""
        if after is not None and len(after) > _VALUE_LENGTH_MAX:
            reason = f"The value of {name} is longer than {_VALUE_LENGTH_MAX} characters."
            return ApiError(ErrorCode.INVALID_CONFIG, reason)
        if resource.resource_type != BROKER:
            return NO_ERROR
        if name == "min.insync.replicas" and self._state.image.features.is_elr_enabled:
            if resource.resource_name:
                return ApiError(ErrorCode.INVALID_CONFIG, f"With ELR enabled no single broker may have its own {name}.")
            if after is None:
                return ApiError(
                    ErrorCode.INVALID_CONFIG, f"Cluster-level {name} cannot be removed while ELR is enabled."
                )
        if name == "cordoned.log.dirs":
            return self._cordon_error(before, after, is_forwarded=is_forwarded)
        return NO_ERROR

    def _cordon_error(self, before: str | None, after: str | None, *, is_forwarded: bool) -> ApiError:
        if not self._state.metadata_version.cordoned_log_dirs_supported:
            reason = (
                "The cordoned.log.dirs configuration value cannot be set because it requires metadata.version >= "
                "4.3-IV0"
            )
            return ApiError(ErrorCode.INVALID_CONFIG, reason)
        # Only the broker knows its directories: it has checked what it forwards.
        if is_forwarded or after is None or set(_directories(after)) <= set(_directories(before or "")):
            return NO_ERROR
        reason = (
            "When updating cordoned.log.dirs via controllers,  the new value must be a subset of the current "
            "configuration value."
        )
        return ApiError(ErrorCode.INVALID_CONFIG, reason)

    def _missing_resource_error(self, resource: ConfigResource) -> ApiError:
        image = self._state.image
        name = resource.resource_name
        if resource.resource_type == TOPIC and image.topics.topic(name) is None:
            return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        if resource.resource_type == BROKER and name:
            node_id = int(name)
            is_known = node_id in image.cluster.brokers or node_id in image.cluster.controllers
            if not is_known and node_id != self._settings.node_id:
                return ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")
        return NO_ERROR


def min_insync_replicas_record(settings: ControllerSettings) -> VersionedRecord:
    """Return the record that makes server.properties' min.insync.replicas that of the cluster."""
    name = "min.insync.replicas"
    value = int(settings.static_configs.get(name, "1"))
    return VersionedRecord(ConfigRecord(BROKER, CLUSTER_DEFAULT, name, str(value)), 0)


def changed_list(before: str, operation: int, value: str) -> str:
    """Return a LIST config after APPEND or SUBTRACT of a value's entries; one that is subtracted goes once."""
    entries, given = _entries(before), _entries(value)
    if operation == APPEND:
        known = frozenset(entries)
        return ",".join([*entries, *(entry for entry in dict.fromkeys(given) if entry not in known)])
    left = Counter(given)
    kept = []
    for entry in entries:
        if left[entry]:
            left[entry] -= 1
        else:
            kept.append(entry)
    return ",".join(kept)


def _entries(text: str) -> list[str]:
    return [entry for entry in text.split(",") if entry]


def _directories(text: str) -> list[str]:
    return [directory.strip() for directory in text.split(",") if directory.strip()]
