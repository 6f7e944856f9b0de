"""Which configs a resource may have, as the controller of a release sees it.

The controller checks names and values of topics, groups and client metrics. Of brokers it checks the name only: the
values of a dynamic broker config are checked by the broker that forwards the request, as in Kafka.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.group_config_limits import check_group_configs
from falkirk.metadata.controller.state.topic_names import reason_invalid_name
from falkirk.metadata.image.configs import BROKER, CLIENT_METRICS, GROUP, TOPIC
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.versions.configs.definition import PATTERN_ERRORS, ConfigError, Definition, Value
from falkirk.versions.configs.resources import (
    client_metrics_definitions,
    group_definitions,
    topic_definitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.controller.configs.config_resolution import ConfigResolution
    from falkirk.metadata.image.configs import ConfigResource, ConfigsImage
    from falkirk.versions.release import Release


CONFIGS_PER_RESOURCE_MAX: Final = 1_000
"""How many configs of a resource one request may set: brokers know some 300, and those of their listeners besides."""
TOO_MANY_CONFIGS: Final = ApiError(
    ErrorCode.POLICY_VIOLATION, f"A request may set at most {CONFIGS_PER_RESOURCE_MAX} configs of a resource."
)
_NODE_ID: Final = re.compile(r"[+-]?[0-9]{1,10}")
_INT_MAX: Final = (1 << 31) - 1
_AS_WHOLE: Final = -2
_UNLIMITED: Final = -1
_INTERVAL_MS_MIN: Final = 100
_INTERVAL_MS_MAX: Final = 3_600_000
# What a pattern can ask of a client (KIP-714).
_CLIENT_PROPERTIES: Final = frozenset(
    {
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


def is_known_resource_type(resource_type: int, release: Release) -> bool:
    """Return whether a controller of the release stores configs of this resource type."""
    return resource_type in {TOPIC, BROKER, CLIENT_METRICS} or (
        resource_type == GROUP and bool(group_definitions(release))
    )


def resource_name_error(resource: ConfigResource) -> ApiError:
    """Return the error of a name that no resource of this type can have; NO_ERROR if the name is valid."""
    return _NAME_CHECKS[resource.resource_type](resource.resource_name)


def configs_error(
    resource: ConfigResource,
    configs: Mapping[str, str],
    *,
    image: ConfigsImage,
    resolution: ConfigResolution,
) -> ApiError:
    """Return the error of a resource with exactly these configs; NO_ERROR if they are valid.

    `image`: the configs before the change, of the resource and of brokers.
    """
    error = resource_name_error(resource)
    if error.is_failure:
        return error
    try:
        match resource.resource_type:
            case 2:  # TOPIC
                _check_topic(resource.resource_name, configs, image, resolution)
            case 16:  # CLIENT_METRICS
                return _client_metrics_error(configs, client_metrics_definitions(resolution.release))
            case 32:  # GROUP
                parsed = _parsed("group", configs, group_definitions(resolution.release))
                check_group_configs(parsed, resolution.static_configs, resolution.release)
    except ConfigError as invalid:
        return ApiError(ErrorCode.INVALID_CONFIG, str(invalid))
    return NO_ERROR


def _topic_name_error(name: str) -> ApiError:
    if not name:
        return _invalid_request("Default topic resources are not allowed.")
    reason = reason_invalid_name(name)
    return NO_ERROR if reason is None else ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def _broker_name_error(name: str) -> ApiError:
    if not name:  # the default of all brokers
        return NO_ERROR
    if not _NODE_ID.fullmatch(name) or int(name) > _INT_MAX:
        return _invalid_request("Unable to parse broker name as a base 10 number.")
    return _invalid_request("Invalid negative broker ID.") if int(name) < 0 else NO_ERROR


def _subscription_name_error(name: str) -> ApiError:
    return NO_ERROR if name else _invalid_request("A client metrics subscription must have a name.")


def _group_name_error(name: str) -> ApiError:
    return NO_ERROR if name else _invalid_request("Default group resources are not allowed.")


_NAME_CHECKS: Final[Mapping[int, Callable[[str], ApiError]]] = {
    TOPIC: _topic_name_error,
    BROKER: _broker_name_error,
    CLIENT_METRICS: _subscription_name_error,
    GROUP: _group_name_error,
}


def _invalid_request(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def _parsed(kind: str, configs: Mapping[str, str], definitions: Mapping[str, Definition]) -> dict[str, Value]:
    """Read all values. Raises ConfigError for the first unknown name, else for the first value that is refused."""
    for name in configs:
        if name not in definitions:
            raise ConfigError(f"Unknown {kind} config name: {name}")
    return {name: definitions[name].parse(name, text, keeps_duplicates=True) for name, text in configs.items()}


def _check_topic(topic: str, configs: Mapping[str, str], image: ConfigsImage, resolution: ConfigResolution) -> None:
    parsed = _parsed("topic", configs, topic_definitions(resolution.release))

    def value(name: str) -> int:
        given = parsed[name] if name in parsed else resolution.topic_value(image, {}, name)
        assert isinstance(given, int)
        return given

    lag_min, lag_max = value("min.compaction.lag.ms"), value("max.compaction.lag.ms")
    if lag_min > lag_max:
        raise ConfigError(f"min.compaction.lag.ms ({lag_min}) is more than max.compaction.lag.ms ({lag_max})")
    if parsed.get("remote.storage.enable"):
        _check_tiered_topic(parsed, value, image, resolution)
        return
    was_tiered = image.of(TOPIC, topic).get("remote.storage.enable", "").lower() == "true"
    has_say = "remote.log.delete.on.disable" in topic_definitions(resolution.release)
    if was_tiered and has_say and not parsed.get("remote.log.delete.on.disable"):
        raise ConfigError(
            "Remote storage cannot be disabled while its data is kept: set remote.log.delete.on.disable=true to delete "
            "it, or remote.storage.enable=true and remote.log.copy.disable=true to keep it for reading"
        )


def _check_tiered_topic(
    parsed: Mapping[str, Value],
    value: Callable[[str], int],
    image: ConfigsImage,
    resolution: ConfigResolution,
) -> None:
    if resolution.static_configs.get("remote.log.storage.system.enable", "").strip().lower() != "true":
        raise ConfigError("remote.storage.enable needs remote.log.storage.system.enable=true on the brokers")
    given = parsed.get("cleanup.policy")
    policy = resolution.topic_value(image, {}, "cleanup.policy") if given is None else given
    assert isinstance(policy, tuple)
    if "compact" in policy:
        raise ConfigError("A topic with remote storage cannot be compacted")
    known = topic_definitions(resolution.release)
    for unit in ("bytes", "ms"):
        whole_name, local_name, lag_name = f"retention.{unit}", f"local.retention.{unit}", f"remote.copy.lag.{unit}"
        whole, local = value(whole_name), value(local_name)
        if local != _AS_WHOLE and whole != _UNLIMITED and (local == _UNLIMITED or local > whole):
            raise ConfigError(f"{local_name} ({local}) is more than {whole_name} ({whole})")
        if parsed.get("remote.log.copy.disable") and local not in {_AS_WHOLE, whole}:
            raise ConfigError(
                f"With remote.log.copy.disable=true nothing leaves the local log: {local_name} ({local}) must be "
                f"{whole_name} ({whole})"
            )
        kept = whole if local == _AS_WHOLE else local
        if lag_name in known and kept != _UNLIMITED and value(lag_name) > kept:
            raise ConfigError(f"{lag_name} ({value(lag_name)}) is more than the local retention ({kept})")


def _client_metrics_error(configs: Mapping[str, str], known: Mapping[str, Definition]) -> ApiError:
    for name in configs:
        if name not in known:
            return _invalid_request(f"Unknown client metrics configuration: {name}")
    parsed = _parsed("client metrics", configs, known)
    interval_ms = parsed.get("interval.ms", _INTERVAL_MS_MIN)
    assert isinstance(interval_ms, int)
    if not _INTERVAL_MS_MIN <= interval_ms <= _INTERVAL_MS_MAX:
        return _invalid_request(
            f"Invalid value {interval_ms} for interval.ms: it must be from {_INTERVAL_MS_MIN} to {_INTERVAL_MS_MAX}"
        )
    patterns = parsed.get("match", ())
    assert isinstance(patterns, tuple)
    for pattern in patterns:
        if not _is_client_pattern(pattern):
            return ApiError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}")
    return NO_ERROR


def _is_client_pattern(pattern: str) -> bool:
    name, _, expression = pattern.rstrip("=").partition("=")
    if not expression or "=" in expression or name.strip() not in _CLIENT_PROPERTIES:
        return False
    try:
        # Differs from Kafka: the few expressions that Java knows and Python does not are refused.
        re.compile(expression.strip())
    except PATTERN_ERRORS:
        return False
    return True
