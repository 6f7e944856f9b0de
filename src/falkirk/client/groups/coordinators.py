"""Find the coordinators of groups or transactional ids, and send them requests, again while coordinators move or load.

Source: FindCoordinator (key 10): one group a request up to version 3, many from version 4 on (KIP-699).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ClientError, ConnectionFailedError, RequestTimedOutError
from falkirk.client.refusal import Refusal
from falkirk.client.retries import API_TIMEOUT_MS, Retries
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import FindCoordinatorRequest, FindCoordinatorResponse
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from falkirk.client.admin import AsyncAdmin
    from falkirk.protocol.messages.find_coordinator_response import Coordinator as _Coordinator

T = TypeVar("T")

MOVED: Final = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)
"""The coordinator is another broker, or not ready: find it and ask again."""

_FIND_COORDINATOR: Final = 10
GROUP: Final = 0
TRANSACTION: Final = 1
"""Kinds of keys."""
_SINGLE: Final = SupportedRange(0, 3)
_BATCHED: Final = SupportedRange(4, 6)
_NO_ANSWER: Final = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, "the answer does not name the group")


class Coordinators:
    """Finds coordinators through any broker, and sends them requests.

    `key_type`: TRANSACTION has transactional ids in the place of groups.
    """

    def __init__(self, admin: AsyncAdmin, *, key_type: int = GROUP) -> None:
        self._admin = admin
        self._key_type = key_type

    async def find(
        self, group_ids: Iterable[str], *, timeout_ms: int = API_TIMEOUT_MS
    ) -> dict[str, ClusterNode | Refusal]:
        """Return the coordinator of each group. Raises ClientError if no broker answers."""
        retries = Retries(self._admin.config, timeout_ms)
        found: dict[str, ClusterNode | Refusal] = {}
        waiting = list(dict.fromkeys(group_ids))
        while waiting:
            found |= await self._find_once(waiting, retries.request_timeout_ms)
            waiting = [group_id for group_id in waiting if _has_moved(found[group_id])]
            if waiting:
                if retries.is_last:
                    break
                await retries.pause()
        return found

    async def ask(
        self,
        group_ids: Iterable[str],
        question: Callable[[ClusterNode, Sequence[str], int], Awaitable[Mapping[str, T | Refusal]]],
        *,
        timeout_ms: int = API_TIMEOUT_MS,
    ) -> dict[str, T | Refusal]:
        """Call `question` for each coordinator with all its groups, and return the answers by group.

        `question` gets a coordinator, its groups, and the timeout of a request (ms); answers with an error of MOVED are
        asked for again. Raises ClientError for a coordinator that cannot be reached in time.
        """
        retries = Retries(self._admin.config, timeout_ms)
        wanted = list(dict.fromkeys(group_ids))
        answers: dict[str, T | Refusal] = {}
        waiting = wanted
        while waiting:
            left_ms = retries.request_timeout_ms
            by_node: dict[ClusterNode, list[str]] = {}
            try:
                found = await self._find_once(waiting, left_ms)
            except RequestTimedOutError:
                # The time is over: the last answers say more.
                if all(group_id in answers for group_id in waiting):
                    break
                raise
            for group_id, coordinator in found.items():
                if isinstance(coordinator, Refusal):
                    answers[group_id] = coordinator
                else:
                    by_node.setdefault(coordinator, []).append(group_id)
            results = await asyncio.gather(
                *(question(node, ids, left_ms) for node, ids in by_node.items()),
                return_exceptions=True,
            )
            unreached = _sort_out(results, list(by_node.values()), answers)
            lost = {group_id for ids, _ in unreached for group_id in ids}
            waiting = [group_id for group_id in waiting if group_id in lost or _has_moved(answers[group_id])]
            if waiting:
                if retries.is_last:
                    if unreached:
                        raise unreached[0][1]
                    break
                await retries.pause()
        return {group_id: answers[group_id] for group_id in wanted}

    async def _find_once(self, group_ids: Sequence[str], timeout_ms: int) -> dict[str, ClusterNode | Refusal]:
        node = await self._admin.any_node()
        offered = (await node.versions()).api_ranges.get(_FIND_COORDINATOR)
        if offered is not None and offered.highest not in _SINGLE:
            request = FindCoordinatorRequest(key_type=self._key_type, coordinator_keys=tuple(group_ids))
            response = await node.request(request, wanted=_BATCHED, is_idempotent=True, timeout_ms=timeout_ms)
            assert isinstance(response, FindCoordinatorResponse)
            by_key = {each.key: _coordinator(each) for each in response.coordinators}
            return {group_id: by_key.get(group_id, _NO_ANSWER) for group_id in group_ids}
        found: dict[str, ClusterNode | Refusal] = {}
        for group_id in group_ids:
            request = FindCoordinatorRequest(key=group_id, key_type=self._key_type)
            response = await node.request(request, wanted=_SINGLE, is_idempotent=True, timeout_ms=timeout_ms)
            assert isinstance(response, FindCoordinatorResponse)
            found[group_id] = _coordinator(response)
        return found


def _coordinator(answer: FindCoordinatorResponse | _Coordinator) -> ClusterNode | Refusal:
    if answer.error_code != ErrorCode.NONE:
        return Refusal(answer.error_code, answer.error_message or None)
    return ClusterNode(node_id=answer.node_id, endpoint=Endpoint(answer.host, answer.port))


def _has_moved(answer: object) -> bool:
    return isinstance(answer, Refusal) and answer.error_code in MOVED


def _sort_out(
    results: Sequence[Mapping[str, T | Refusal] | BaseException],
    requested: Sequence[list[str]],
    answers: dict[str, T | Refusal],
) -> list[tuple[list[str], ClientError]]:
    """Add the results to `answers`, and return the groups whose coordinator did not answer, each with its error.

    When the time is over, the last answers are kept.
    """
    unreached: list[tuple[list[str], ClientError]] = []
    for group_ids, answer in zip(requested, results, strict=True):
        if isinstance(answer, RequestTimedOutError) and all(group_id in answers for group_id in group_ids):
            continue
        if isinstance(answer, ConnectionFailedError):
            unreached.append((group_ids, answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            answers |= {group_id: answer.get(group_id, _NO_ANSWER) for group_id in group_ids}
    return unreached
