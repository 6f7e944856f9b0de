"""What a request counts against its quota."""

from falkirk.metadata.controller.state.mutation_quota import MutationQuota, TokenBucket
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
