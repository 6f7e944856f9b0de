"""SCRAM credentials of users (KIP-554, KIP-900), in the metadata log since 3.5-IV2."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.scram import ScramCredential, ScramUser
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import NO_ERROR, ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import RemoveUserScramCredentialRecord
from falkirk.slices import DECISION_VISITS, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.slices import Slices

ITERATIONS_MAX: Final = 16_384
"""As in Kafka: a client has to do as many at each login."""
ITERATIONS_MIN: Final = 4096
_DIGESTS: Final[Mapping[int, str]] = {1: "sha256", 2: "sha512"}


@dataclass(frozen=True, slots=True)
class ScramUpsertion:
    """A credential to set; the password has been salted and hashed by the client."""

    user: ScramUser
    iterations: int
    salt: bytes
    salted_password: bytes

    def credential(self) -> ScramCredential:
        """Return the credential that is stored instead of the password. Source: RFC 5802, section 3."""
        digest = _DIGESTS[self.user.mechanism]
        client_key = hmac.digest(self.salted_password, b"Client Key", digest)
        return ScramCredential(
            salt=self.salt,
            stored_key=hashlib.new(digest, client_key).digest(),
            server_key=hmac.digest(self.salted_password, b"Server Key", digest),
            iterations=self.iterations,
        )


class ScramControl:
    """Upserts and deletes SCRAM credentials (KIP-554)."""

    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def alter_credentials(
        self, deletions: Iterable[ScramUser], upsertions: Iterable[ScramUpsertion]
    ) -> Slices[ControllerResult[dict[str, ApiError]]]:
        """Delete and set credentials; give an answer for each user, deletions first.

        As in Kafka a user who stands twice in the request is refused, for whichever mechanisms.
        """
        changes: dict[str, VersionedRecord] = {}
        errors: dict[str, ApiError] = {}
        budget = SliceBudget()
        for user in deletions:
            if budget.spend(DECISION_VISITS):
                yield
            if self._is_new(user.name, changes, errors):
                errors[user.name] = error = self._deletion_error(user)
                if not error.is_failure:
                    record = RemoveUserScramCredentialRecord(user.name, user.mechanism)
                    changes[user.name] = VersionedRecord(record, 0)
        for upsertion in upsertions:
            if budget.spend(DECISION_VISITS):
                yield
            user = upsertion.user
            if self._is_new(user.name, changes, errors):
                errors[user.name] = error = self._upsertion_error(upsertion)
                if not error.is_failure:
                    changes[user.name] = VersionedRecord(*upsertion.credential().to_record(user))
        return ControllerResult(tuple(changes.values()), errors)

    def _is_new(self, name: str, changes: dict[str, VersionedRecord], errors: dict[str, ApiError]) -> bool:
        """Return whether the request names this user for the first time; a duplicate becomes an error."""
        if name not in errors:
            return True
        if changes.pop(name, None) is not None:
            reason = "A user credential cannot be altered twice in the same request."
            errors[name] = ApiError(ErrorCode.DUPLICATE_RESOURCE, reason)
        return False

    def _deletion_error(self, user: ScramUser) -> ApiError:
        error = self._support_error(user)
        if error.is_failure or user in self._state.image.scram.credentials:
            return error
        reason = "Attempt to delete a user credential that does not exist"
        return ApiError(ErrorCode.RESOURCE_NOT_FOUND, reason)

    def _upsertion_error(self, upsertion: ScramUpsertion) -> ApiError:
        error = self._support_error(upsertion.user)
        if error.is_failure:
            return error
        if upsertion.iterations < ITERATIONS_MIN:
            return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if upsertion.iterations > ITERATIONS_MAX:
            return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
        return NO_ERROR

    def _support_error(self, user: ScramUser) -> ApiError:
        if not self._state.metadata_version.scram_supported:
            return ApiError(ErrorCode.UNSUPPORTED_VERSION, "The current metadata.version does not support SCRAM")
        if not user.name:
            return ApiError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
        if user.mechanism not in _DIGESTS:
            return ApiError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        return NO_ERROR
