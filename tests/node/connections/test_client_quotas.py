"""Which quota counts for a client, and who shares it."""

from __future__ import annotations

import math

import pytest
from immutables import Map

from falkirk.metadata.controller.state.mutation_quota import THROTTLE_MS_MAX
from falkirk.metadata.image.client_quotas import ClientQuotasImage
from falkirk.metadata.requests.request_context import Principal, RequestContext
from falkirk.node.connections.client_quotas import (
    CLIENTS_MAX,
    CONSUMER_BYTE_RATE,
    PRODUCER_BYTE_RATE,
    ClientQuotas,
    QuotaWindows,
    SampledRate,
)

ENTITIES = [
    {"user": "alice", "client-id": "app"},
    {"user": "alice", "client-id": None},
    {"user": "alice"},
    {"user": None, "client-id": "app"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "app"},
    {"client-id": None},
]
"""What may count for alice's client `app`, the most specific first (KIP-55)."""


class Clock:
    now_ms = 0


def quotas_of(*entities: dict[str, str | None], clock: Clock | None = None, rate: float = 100.0) -> ClientQuotas:
    image = ClientQuotasImage(
        Map({tuple(sorted(entity.items())): Map({PRODUCER_BYTE_RATE: rate + at}) for at, entity in enumerate(entities)})
    )
    clock = clock or Clock()
    return ClientQuotas(lambda: image, lambda: clock.now_ms, QuotaWindows(), QuotaWindows())


def client(user: str = "alice", client_id: str | None = "app") -> RequestContext:
    return RequestContext(api_key=0, api_version=9, client_id=client_id, principal=Principal("User", user))


def throttle_ms(quotas: ClientQuotas, context: RequestContext, size: int) -> int:
    return quotas.record_bytes(PRODUCER_BYTE_RATE, context, size)


@pytest.mark.parametrize("first", range(len(ENTITIES)))
def test_the_quota_of_the_most_specific_entity_counts(first):
    quotas = quotas_of(*ENTITIES[first:])
    # Ten windows of a second count: 100 B/s hold 1000 B, and the quota of no other entity of the list is that low.
    assert throttle_ms(quotas, client(), 1000) == 0
    assert throttle_ms(quotas, client(), 1) > 0


@pytest.mark.parametrize(
    ("entity", "sharing", "apart"),
    [
        ({"user": "alice"}, client("alice", "other"), None),
        ({"user": None}, client("alice", "other"), client("bob", "app")),
        ({"client-id": "app"}, client("bob", "app"), None),
        ({"client-id": None}, client("bob", "app"), client("alice", "other")),
        ({"user": "alice", "client-id": None}, None, client("alice", "other")),
        ({"client-id": None}, None, client("alice", None)),
    ],
)
def test_clients_share_what_is_one_entitys(entity, sharing, apart):
    quotas = quotas_of(entity)
    assert throttle_ms(quotas, client(), 2000) > 0
    if sharing is not None:
        assert throttle_ms(quotas, sharing, 1) > 0
    if apart is not None:
        assert throttle_ms(quotas, apart, 1) == 0


def test_a_client_without_a_quota_is_not_measured():
    assert throttle_ms(quotas_of(), client(), 1 << 40) == 0
    assert throttle_ms(quotas_of({"user": "bob"}), client(), 1 << 40) == 0


def test_a_rate_falls_as_windows_pass():
    clock = Clock()
    quotas = quotas_of({"user": "alice"}, clock=clock)
    assert throttle_ms(quotas, client(), 1500) == 5000
    clock.now_ms = 5000
    assert throttle_ms(quotas, client(), 0) == 5000
    clock.now_ms = 11_000
    assert throttle_ms(quotas, client(), 0) == 0


def test_a_single_window_measures_from_its_first_record_on():
    rate = SampledRate(QuotaWindows(1, 1000))
    rate.record(10, 0)
    assert rate.throttle_ms(10.0, 500) == 500
    assert rate.throttle_ms(10.0, 1000) == 0


@pytest.mark.parametrize(
    ("limit", "expected"), [(5e-324, THROTTLE_MS_MAX), (1e-9, THROTTLE_MS_MAX), (math.inf, 0), (math.nan, 0)]
)
def test_limits_near_0_throttle_for_the_longest_time_and_those_that_are_no_number_for_none(limit: float, expected: int):
    rate = SampledRate(QuotaWindows())
    rate.record(1, 0)
    assert rate.throttle_ms(limit, 0) == expected


def test_a_rate_that_is_no_number_limits_no_fetch():
    image = ClientQuotasImage(Map({(("user", None),): Map({CONSUMER_BYTE_RATE: math.nan})}))
    quotas = ClientQuotas(lambda: image, lambda: 0, QuotaWindows(), QuotaWindows())
    assert quotas.fetch_bytes_max(client(), 1000) == 1000


def test_what_is_remembered_of_clients_is_bounded():
    quotas = quotas_of({"client-id": None})
    for number in range(CLIENTS_MAX + 5):
        throttle_ms(quotas, client(client_id=f"{number}"), 2000)
    assert len(quotas._rates) == CLIENTS_MAX
    assert throttle_ms(quotas, client(client_id="0"), 1) == 0
    assert throttle_ms(quotas, client(client_id=f"{CLIENTS_MAX}"), 1) > 0
