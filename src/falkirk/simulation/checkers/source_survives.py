"""SourceSurvives: a rehearsed cluster keeps the metadata that it began with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from falkirk.simulation.checkers.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.simulation.views.replica_view import ReplicaView


class SourceSurvives(Checker):
    """Covers topics, configs, quotas, users, tokens and ACLs: every level from 3.7 on has them.

    Administrators of a run change only what they have created themselves.
    """

    def __init__(self, source: MetadataImage) -> None:
        self._source = source

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Check the image of every replica."""
        for node_id, replica in replicas.items():
            for what in _missing(self._source, replica.image):
                raise self.violated(f"node {node_id} has lost {what}")


def _missing(source: MetadataImage, image: MetadataImage) -> Iterator[str]:
    for topic in source.topics:
        found = image.topics.topic(topic.name)
        if found is None or found.topic_id != topic.topic_id or found.partition_count != topic.partition_count:
            yield f"topic {topic.name}"
    for what, before, after in _tables(source, image):
        yield from (f"{what} {key}" for key, value in before.items() if after.get(key) != value)


def _tables(
    source: MetadataImage, image: MetadataImage
) -> Iterator[tuple[str, Mapping[Any, Any], Mapping[Any, Any]]]:  # Any: keys and values of each area's own kind
    yield "the configs of", source.configs.resources, image.configs.resources
    yield "the quotas of", source.client_quotas.entities, image.client_quotas.entities
    yield "the credential of", source.scram.credentials, image.scram.credentials
    yield "delegation token", source.delegation_tokens.tokens, image.delegation_tokens.tokens
    yield "ACL", source.acls.acls, image.acls.acls
