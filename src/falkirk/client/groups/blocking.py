"""Groups without an event loop: each call blocks until its answer.

with GroupAdmin(parse_servers("broker:9092"), ClientConfig()) as admin:
    for group in admin.list_groups(types=["Consumer"]):
        print(group.group_id, admin.describe_groups([group.group_id]))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from falkirk.client.admin import AsyncAdmin
from falkirk.client.event_loop import new_runner
from falkirk.client.groups import description, listing, offsets
from falkirk.client.groups.coordinators import Coordinators
from falkirk.client.partitions import list_offsets
from falkirk.client.retries import API_TIMEOUT_MS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from falkirk.client.cluster_description import ClusterNode
    from falkirk.client.config import ClientConfig
    from falkirk.client.groups.description import GroupDescription
    from falkirk.client.groups.listing import GroupListing
    from falkirk.client.groups.offsets import CommittedOffsets, Outcomes
    from falkirk.client.refusal import Refusal
    from falkirk.protocol.endpoint import Endpoint
    from falkirk.protocol.topic_partition import TopicPartition


class GroupAdmin:
    """An AsyncAdmin on an event loop of its own, for one thread. Methods do what the functions of this package do.

    `timeout_ms`: how long each call retries while coordinators and leaders move.
    """

    def __init__(
        self, bootstrap: Sequence[Endpoint], config: ClientConfig, *, timeout_ms: int = API_TIMEOUT_MS
    ) -> None:
        self._admin = AsyncAdmin(bootstrap, config)
        self._runner = new_runner()
        self._timeout_ms = timeout_ms

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; no request can follow."""
        with self._runner:
            self._runner.run(self._admin.close())

    def find_coordinators(self, group_ids: Iterable[str]) -> dict[str, ClusterNode | Refusal]:
        """Return the coordinator of each group."""
        return self._runner.run(Coordinators(self._admin).find(group_ids, timeout_ms=self._timeout_ms))

    def list_groups(
        self, *, types: Collection[str] = (), states: Collection[str] = (), protocol_types: Collection[str] = ()
    ) -> list[GroupListing]:
        """Return the groups, by id."""
        return self._runner.run(
            listing.list_groups(
                self._admin, types=types, states=states, protocol_types=protocol_types, timeout_ms=self._timeout_ms
            )
        )

    def describe_groups(self, group_ids: Iterable[str]) -> dict[str, GroupDescription | Refusal]:
        """Describe consumer groups."""
        return self._runner.run(description.describe_groups(self._admin, group_ids, timeout_ms=self._timeout_ms))

    def list_group_offsets(self, group_ids: Iterable[str]) -> dict[str, CommittedOffsets | Refusal]:
        """Return all committed offsets of groups."""
        return self._runner.run(offsets.list_group_offsets(self._admin, group_ids, timeout_ms=self._timeout_ms))

    def alter_group_offsets(self, group_id: str, wanted: Mapping[TopicPartition, int]) -> Outcomes | Refusal:
        """Commit offsets for a group without active members."""
        return self._runner.run(offsets.alter_group_offsets(self._admin, group_id, wanted, timeout_ms=self._timeout_ms))

    def delete_group_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> Outcomes | Refusal:
        """Delete offsets of a group."""
        return self._runner.run(
            offsets.delete_group_offsets(self._admin, group_id, partitions, timeout_ms=self._timeout_ms)
        )

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Refusal | None]:
        """Delete groups that are empty."""
        return self._runner.run(offsets.delete_groups(self._admin, group_ids, timeout_ms=self._timeout_ms))

    def list_offsets(self, partitions: Iterable[TopicPartition], time: int) -> dict[TopicPartition, int | Refusal]:
        """Return an offset for each partition."""
        return self._runner.run(list_offsets(self._admin, partitions, time, timeout_ms=self._timeout_ms))
