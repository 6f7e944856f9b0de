"""Delegation tokens: made, renewed, expired, swept."""

import hashlib
import hmac

import pytest
from controllers import make_controller, run, run_due

from falkirk.metadata.requests.request_context import Principal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import DelegationTokenRecord, RemoveDelegationTokenRecord

ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))
KEY = "the key of the cluster"
HOUR = 3600 * 1000
DAY = 24 * HOUR


def cluster(**settings):
    return make_controller(**({"delegation_token_secret_key": KEY} | settings))


def create(controller, requester=ALICE, *, owner=None, renewers=(), lifetime=-1, now=0):
    result = controller.delegation_tokens.create_token(
        requester, owner or requester, renewers, max_lifetime_ms=lifetime, now_ms=now
    )
    return run(controller, result, now_ms=now)


def renew(controller, secret, who=ALICE, period=-1, now=0):
    result = controller.delegation_tokens.renew_token(who, secret, renew_period_ms=period, now_ms=now)
    told = run(controller, result, now_ms=now)
    return told.error_code.name, told.expiry_timestamp_ms


def expire(controller, secret, who=ALICE, period=-1, now=0):
    result = controller.delegation_tokens.expire_token(who, secret, expiry_time_period_ms=period, now_ms=now)
    told = run(controller, result, now_ms=now)
    return told.error_code.name, told.expiry_timestamp_ms


def tokens_of(controller):
    return controller.state.image.delegation_tokens.tokens


def test_a_token_is_made_with_a_secret_that_is_told_and_not_written():
    controller = cluster()
    result = controller.delegation_tokens.create_token(ALICE, BOB, [CAROL], max_lifetime_ms=-1, now_ms=7)
    told = run(controller, result)
    assert told.hmac == hmac.new(KEY.encode(), told.token_id.encode(), hashlib.sha512).digest()
    ((record, version),) = result.records
    expected = DelegationTokenRecord("User:bob", "User:alice", ("User:carol",), 7, 7 + 7 * DAY, 7 + DAY, told.token_id)
    assert (record, version) == (expected, 0)
    assert told.token == tokens_of(controller)[told.token_id]


@pytest.mark.parametrize(
    ("lifetime", "max_timestamp", "expiry"),
    [(-1, 7 * DAY, DAY), (0, 7 * DAY, DAY), (2 * DAY, 2 * DAY, DAY), (HOUR, HOUR, HOUR), (9 * DAY, 7 * DAY, DAY)],
)
def test_a_token_lives_no_longer_than_asked_for_and_than_allowed(lifetime, max_timestamp, expiry):
    token = create(cluster(), lifetime=lifetime).token
    assert (token.max_timestamp, token.expiration_timestamp) == (max_timestamp, expiry)


def test_times_do_not_overflow():
    controller = cluster(delegation_token_max_lifetime_ms=2**63 - 1)
    assert create(controller, now=5).token.max_timestamp == 2**63 - 1


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"delegation_token_secret_key": None}, "DELEGATION_TOKEN_AUTH_DISABLED"),
        ({"release": "3.9", "metadata_version": "3.6-IV1"}, "UNSUPPORTED_VERSION"),
    ],
)
def test_where_there_are_no_tokens_every_request_says_so(settings, error):
    controller = cluster(**settings)
    assert create(controller).error_code is ErrorCode[error]
    assert renew(controller, b"x") == (error, 0)
    assert expire(controller, b"x") == (error, 0)
    assert controller.delegation_tokens.next_due_ms is None
    assert list(controller.delegation_tokens.due(10 * DAY)) == []


def test_renewers_must_be_users():
    assert create(cluster(), renewers=[Principal("Group", "g")]).error_code is ErrorCode.INVALID_PRINCIPAL_TYPE


@pytest.mark.parametrize(
    ("period", "now", "expected"),
    [
        (-1, HOUR, ("NONE", HOUR + DAY)),
        (HOUR, HOUR, ("NONE", 2 * HOUR)),
        (3 * DAY, HOUR, ("NONE", HOUR + DAY)),  # more than is allowed
        (-1, DAY + 1, ("DELEGATION_TOKEN_EXPIRED", 0)),
        (-1, DAY, ("NONE", 2 * DAY)),
    ],
)
def test_a_token_is_renewed_from_now_on(period, now, expected):
    controller = cluster()
    assert renew(controller, create(controller).hmac, period=period, now=now) == expected


def test_no_token_outlives_its_greatest_age():
    controller = cluster()
    secret = create(controller, lifetime=DAY + HOUR).hmac
    assert renew(controller, secret, now=DAY - 1) == ("NONE", DAY + HOUR)
    assert expire(controller, secret, period=9 * DAY, now=DAY) == ("NONE", DAY + HOUR)


@pytest.mark.parametrize("change", [renew, expire])
def test_owner_and_renewers_alone_change_a_token(change):
    controller = cluster()
    secret = create(controller, requester=ALICE, owner=BOB, renewers=[CAROL]).hmac
    assert change(controller, secret, who=ALICE)[0] == "DELEGATION_TOKEN_OWNER_MISMATCH"
    assert change(controller, b"another", who=BOB)[0] == "DELEGATION_TOKEN_NOT_FOUND"
    assert change(controller, secret, who=CAROL)[0] == "NONE"


def test_a_token_is_ended_earlier_or_at_once():
    controller = cluster()
    secret, other = create(controller).hmac, create(controller).hmac
    assert expire(controller, secret, period=HOUR, now=5) == ("NONE", 5 + HOUR)
    assert expire(controller, secret, period=1, now=2 * HOUR) == ("DELEGATION_TOKEN_EXPIRED", 0)
    # Also one that has expired can be removed.
    assert expire(controller, secret, now=2 * HOUR) == ("NONE", 2 * HOUR)
    assert expire(controller, secret)[0] == "DELEGATION_TOKEN_NOT_FOUND"
    assert renew(controller, other)[0] == "NONE"


def test_expired_tokens_are_swept_now_and_then():
    controller = cluster(delegation_token_expiry_check_interval_ms=HOUR)
    short, long = create(controller, lifetime=1), create(controller)
    assert controller.delegation_tokens.next_due_ms == HOUR
    assert run_due(controller, HOUR - 1) == []
    assert [record for record, _ in run_due(controller, HOUR)] == [RemoveDelegationTokenRecord(short.token_id)]
    assert set(tokens_of(controller)) == {long.token_id}
    assert controller.delegation_tokens.next_due_ms == 2 * HOUR
    assert [record for record, _ in run_due(controller, 30 * HOUR)] == [RemoveDelegationTokenRecord(long.token_id)]
    assert controller.delegation_tokens.next_due_ms == 31 * HOUR


def test_a_sweep_forgets_the_secrets_of_removed_tokens():
    controller = cluster(delegation_token_expiry_check_interval_ms=HOUR)
    gone, kept = create(controller), create(controller)
    assert expire(controller, gone.hmac)[0] == "NONE"
    assert run_due(controller, HOUR) == []
    assert set(controller.delegation_tokens._ids.values()) == {kept.token_id}
    assert renew(controller, gone.hmac, now=HOUR)[0] == "DELEGATION_TOKEN_NOT_FOUND"
    assert renew(controller, kept.hmac, now=HOUR)[0] == "NONE"
