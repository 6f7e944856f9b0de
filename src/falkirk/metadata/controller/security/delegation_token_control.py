"""Delegation tokens (KIP-48, KIP-373, KIP-900), in the metadata log since 3.6-IV2.

A token's secret is the HMAC of its id with the cluster's secret key: it is told to who makes the token, and never
written.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.controller.configs.configuration_control import RECORDS_PER_REQUEST_MAX
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.delegation_tokens import DelegationToken
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RemoveDelegationTokenRecord
from falkirk.protocol.uuid import random_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.requests.request_context import Principal
    from falkirk.protocol.chance import Chance


_USER: Final = "User"
_LONG_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class CreatedToken:
    """A token that was made, with its secret; or why none was."""

    error_code: ErrorCode = ErrorCode.NONE
    token_id: str = ""
    hmac: bytes = b""
    token: DelegationToken | None = None


@dataclass(frozen=True, slots=True)
class TokenExpiry:
    """When a token expires from now on (ms), or why that was not changed."""

    error_code: ErrorCode = ErrorCode.NONE
    expiry_timestamp_ms: int = 0


class DelegationTokenControl:
    """Creates, renews and expires delegation tokens (KIP-900)."""

    def __init__(self, state: ControllerState, settings: ControllerSettings, random: Chance, now_ms: int) -> None:
        self._state = state
        self._settings = settings
        self._random = random
        self._next_sweep_ms = now_ms + settings.delegation_token_expiry_check_interval_ms
        # Ids by secret. Each is computed once; those of removed tokens are not asked for, and go with a sweep.
        self._ids: dict[bytes, str] = {}
        self._known: set[str] = set()

    def create_token(
        self,
        requester: Principal,
        owner: Principal,
        renewers: Sequence[Principal],
        *,
        max_lifetime_ms: int,
        now_ms: int,
    ) -> ControllerResult[CreatedToken]:
        """Make a token for `owner`. Above the configuration's, and if it is not positive, `max_lifetime_ms` is that."""
        error = self._disabled_error()
        if error is not ErrorCode.NONE:
            return ControllerResult((), CreatedToken(error))
        if any(renewer.type != _USER for renewer in renewers):
            return ControllerResult((), CreatedToken(ErrorCode.INVALID_PRINCIPAL_TYPE))
        lifetime_ms = self._settings.delegation_token_max_lifetime_ms
        if max_lifetime_ms > 0:
            lifetime_ms = min(lifetime_ms, max_lifetime_ms)
        max_timestamp = _sum(now_ms, lifetime_ms)
        token = DelegationToken(
            owner=str(owner),
            requester=str(requester),
            renewers=tuple(str(renewer) for renewer in renewers),
            issue_timestamp=now_ms,
            max_timestamp=max_timestamp,
            expiration_timestamp=min(max_timestamp, _sum(now_ms, self._settings.delegation_token_expiry_time_ms)),
        )
        token_id = uuid_text(random_uuid(self._random))
        secret = self._hmac(token_id)
        return ControllerResult(
            (VersionedRecord(*token.to_record(token_id)),), CreatedToken(ErrorCode.NONE, token_id, secret, token)
        )

    def renew_token(
        self, principal: Principal, secret: bytes, *, renew_period_ms: int, now_ms: int
    ) -> ControllerResult[TokenExpiry]:
        """Let a token live on, for `renew_period_ms` or the configuration's time, whichever is less."""
        token_id, token, error = self._find(principal, secret)
        if token is None:
            return ControllerResult((), TokenExpiry(error))
        # Kafka asks for the owner last: who may not renew learns that a token has expired.
        if _is_expired(token, now_ms):
            return ControllerResult((), TokenExpiry(ErrorCode.DELEGATION_TOKEN_EXPIRED))
        if error is not ErrorCode.NONE:
            return ControllerResult((), TokenExpiry(error))
        period_ms = self._settings.delegation_token_expiry_time_ms
        if renew_period_ms > 0:
            period_ms = min(period_ms, renew_period_ms)
        return self._expiring(token_id, token, min(token.max_timestamp, _sum(now_ms, period_ms)))

    def expire_token(
        self, principal: Principal, secret: bytes, *, expiry_time_period_ms: int, now_ms: int
    ) -> ControllerResult[TokenExpiry]:
        """Let a token expire after a time; a negative one removes it at once."""
        token_id, token, error = self._find(principal, secret)
        if token is None or error is not ErrorCode.NONE:
            return ControllerResult((), TokenExpiry(error))
        if expiry_time_period_ms < 0:
            return ControllerResult((_removal(token_id),), TokenExpiry(ErrorCode.NONE, now_ms))
        if _is_expired(token, now_ms):
            return ControllerResult((), TokenExpiry(ErrorCode.DELEGATION_TOKEN_EXPIRED))
        return self._expiring(token_id, token, min(token.max_timestamp, _sum(now_ms, expiry_time_period_ms)))

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Yield the decisions that time has made due, as Controller.due: expired tokens are deleted."""
        if self.next_due_ms is None or now_ms < self._next_sweep_ms:
            return
        self._next_sweep_ms = now_ms + self._settings.delegation_token_expiry_check_interval_ms
        tokens = self._state.image.delegation_tokens.tokens
        self._ids = {secret: token_id for secret, token_id in self._ids.items() if token_id in tokens}
        self._known = set(self._ids.values())
        expired = sorted(token_id for token_id, token in tokens.items() if _is_expired(token, now_ms))
        for start in range(0, len(expired), RECORDS_PER_REQUEST_MAX):
            batch = expired[start : start + RECORDS_PER_REQUEST_MAX]
            yield ControllerResult(tuple(_removal(token_id) for token_id in batch), None)

    @property
    def next_due_ms(self) -> int | None:
        """Return when `due` has work next, as Controller.next_due_ms."""
        return None if self._disabled_error() is not ErrorCode.NONE else self._next_sweep_ms

    def _disabled_error(self) -> ErrorCode:
        if self._settings.delegation_token_secret_key is None:
            return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        if not self._state.metadata_version.delegation_token_supported:
            return ErrorCode.UNSUPPORTED_VERSION
        return ErrorCode.NONE

    def _find(self, principal: Principal, secret: bytes) -> tuple[str, DelegationToken | None, ErrorCode]:
        """Return the token's id, the token with this HMAC, and the error that keeps the principal from changing it."""
        error = self._disabled_error()
        if error is not ErrorCode.NONE:
            return "", None, error
        tokens = self._state.image.delegation_tokens.tokens
        if secret not in self._ids:
            for token_id in tokens:
                if token_id not in self._known:
                    self._known.add(token_id)
                    self._ids[self._hmac(token_id)] = token_id
        token_id = self._ids.get(secret, "")
        token = tokens.get(token_id)
        if token is None:
            return "", None, ErrorCode.DELEGATION_TOKEN_NOT_FOUND
        if str(principal) not in {token.owner, *token.renewers}:
            return token_id, token, ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        return token_id, token, ErrorCode.NONE

    def _hmac(self, token_id: str) -> bytes:
        key = self._settings.delegation_token_secret_key
        assert key is not None, "tokens are not enabled"
        return token_hmac(key, token_id)

    def _expiring(self, token_id: str, token: DelegationToken, expiry_ms: int) -> ControllerResult[TokenExpiry]:
        changed = msgspec.structs.replace(token, expiration_timestamp=expiry_ms)
        record = VersionedRecord(*changed.to_record(token_id))
        return ControllerResult((record,), TokenExpiry(ErrorCode.NONE, expiry_ms))


def token_hmac(secret_key: str, token_id: str) -> bytes:
    """Return the HMAC of a token id: the secret of the token."""
    return hmac.digest(secret_key.encode(), token_id.encode(), "sha512")


def _is_expired(token: DelegationToken, now_ms: int) -> bool:
    return token.max_timestamp < now_ms or token.expiration_timestamp < now_ms


def _removal(token_id: str) -> VersionedRecord:
    return VersionedRecord(RemoveDelegationTokenRecord(token_id), 0)


def _sum(now_ms: int, duration_ms: int) -> int:
    return min(now_ms + duration_ms, _LONG_MAX)
