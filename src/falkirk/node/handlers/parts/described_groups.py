"""Descriptions of many groups: one operation of each shard for the groups of a slice."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.handlers.parts.coordinator_requests import schedule_in_slices
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConsumerGroupDescribeResponse, DescribeGroupsResponse
from falkirk.protocol.schema import WireStruct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.coordinator.runtime.outcome import Outcome, Token
    from falkirk.coordinator.shard.group_coordinator_shard import GroupCoordinatorShard
    from falkirk.node.handlers.parts.view import BrokerView

    Describe: TypeAlias = Callable[[GroupCoordinatorShard, Sequence[str], Token], Outcome]

D = TypeVar("D", bound=WireStruct)


class DescribedGroups(Generic[D]):
    """Has the shards describe groups; many groups take many steps.

    `describe` answers with a response that has the groups which exist. `finish` gets for each group its description,
    None if it does not exist, or the error of its shard. So thousands of groups that do not exist need no object each.
    """

    def __init__(
        self,
        view: BrokerView,
        group_ids: Sequence[str],
        describe: Describe,
        finish: Callable[[Sequence[D | ErrorCode | None]], None],
    ) -> None:
        self._view = view
        self._group_ids = group_ids
        self._describe = describe
        self._finish = finish
        self._found: list[D | ErrorCode | None] = [None] * len(group_ids)
        # Groups without an answer.
        self._left = len(group_ids)

    def start(self) -> None:
        """Schedule the first slice."""
        if not self._group_ids:
            self._finish(())
        schedule_in_slices(self._view.broker.groups, len(self._group_ids), self._schedule)

    def _schedule(self, start: int, end: int) -> None:
        groups = self._view.broker.groups
        by_partition: dict[int, dict[str, int]] = {}
        for place, group_id in enumerate(self._group_ids[start:end], start):
            by_partition.setdefault(groups.partition_for(group_id), {})[group_id] = place
        for places in by_partition.values():
            group_ids = list(places)
            groups.schedule(group_ids[0], partial(self._operate, group_ids), partial(self._done, places))

    def _operate(self, group_ids: Sequence[str], shard: GroupCoordinatorShard, token: Token) -> Outcome:
        return self._describe(shard, group_ids, token)

    def _done(self, places: Mapping[str, int], result: WireStruct | ErrorCode) -> None:
        if isinstance(result, ErrorCode):
            error = operation_error(result)
            for place in places.values():
                self._found[place] = error
        else:
            assert isinstance(result, DescribeGroupsResponse | ConsumerGroupDescribeResponse), "as `describe` answers"
            for group in result.groups:
                # Of the response that the handler wants.
                self._found[places[group.group_id]] = group  # type: ignore[assignment]
        self._left -= len(places)
        if not self._left:
            self._finish(self._found)
