"""Requests and responses as JSON for a log, without secrets.

Source: RequestChannel.Request.loggableRequest. Differs from Kafka: it hides values of configs only; its request log has
salted passwords and the keys of delegation tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.metadata.image.configs import BROKER
from falkirk.protocol.json_form import to_json
from falkirk.protocol.messages import AlterConfigsRequest, IncrementalAlterConfigsRequest
from falkirk.versions.configs.definition import ConfigType
from falkirk.versions.configs.server import definitions

if TYPE_CHECKING:
    from falkirk.protocol.json_form import Json
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release

HIDDEN: Final = "[hidden]"
"""Kafka's replacement for secret values."""

# Fields of SaslAuthenticate, AlterUserScramCredentials, and the APIs of delegation tokens.
_SECRETS: Final = frozenset(("authBytes", "hmac", "salt", "saltedPassword"))


def loggable(message: WireMessage, version: int, release: Release) -> Json:
    """Return the JSON form. Values of broker configs are hidden unless the release defines them as not sensitive."""
    form = to_json(message, version)
    _hide_secrets(form)
    if isinstance(message, AlterConfigsRequest | IncrementalAlterConfigsRequest):
        _hide_configs(form, release)
    return form


def _hide_secrets(form: Any) -> None:  # Any: JSON
    if isinstance(form, dict):
        for name, value in form.items():
            if name in _SECRETS:
                form[name] = HIDDEN
            else:
                _hide_secrets(value)
    elif isinstance(form, list):
        for each in form:
            _hide_secrets(each)


def _hide_configs(form: Json, release: Release) -> None:
    known = definitions(release)
    for resource in form["resources"]:
        if resource["resourceType"] == BROKER:
            for config in resource["configs"]:
                definition = known.get(config["name"])
                if definition is None or definition.type is ConfigType.PASSWORD:
                    config["value"] = HIDDEN
