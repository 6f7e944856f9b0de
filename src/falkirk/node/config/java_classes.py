"""Classes in server.properties that change what a node accepts, and that falkirk, which runs no Java, does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

AUTHORIZER: Final = "authorizer.class.name"
# Both are the same authorizer: its place in the jars has changed.
_AUTHORIZERS: Final = ("", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
_POLICIES: Final = ("alter.config.policy.class.name", "create.topic.policy.class.name", "client.quota.callback.class")


def missing_classes(properties: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield each key with a class that falkirk does not have, and the class; None is a value that is not shown."""
    for key in (AUTHORIZER, *_POLICIES):
        name = (properties.get(key) or "").strip()
        if name and not (key == AUTHORIZER and name in _AUTHORIZERS):
            yield key, name
