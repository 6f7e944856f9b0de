"""What a request counts against its quota."""

from falkirk.metadata.controller.state.mutation_quota import THROTTLE_MS_MAX, MutationQuota, TokenBucket
from falkirk.protocol.error_codes import ErrorCode


def test_a_request_that_is_decided_anew_is_counted_once():
    bucket = TokenBucket(rate=10, burst=10, now_ms=0)
    quota = MutationQuota(bucket, now_ms=0)
    for _ in range(2):
        quota.restart()
        assert not quota.accept(30).is_failure
    assert quota.throttle_ms == bucket.debt_ms(0) == 2_000
    strict = MutationQuota(bucket, is_strict=True, now_ms=0)
    assert strict.accept(1).error_code is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    quota.restart()
    strict.restart()
    assert not strict.accept(1).is_failure


def test_a_debt_at_a_rate_near_0_is_told_as_the_longest_time():
    bucket = TokenBucket(rate=5e-324, burst=0.0, now_ms=0)
    bucket.remove(1, 0)
    assert bucket.debt_ms(0) == THROTTLE_MS_MAX
