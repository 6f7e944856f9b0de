"""The error of a response."""

from __future__ import annotations

from typing import Final, NamedTuple

from falkirk.protocol.error_codes import ErrorCode


class ApiError(NamedTuple):
    """An error code and a sentence for the operator."""

    error_code: ErrorCode
    message: str | None = None

    @property
    def is_failure(self) -> bool:
        """True unless the code is NONE."""
        return self.error_code is not ErrorCode.NONE


NO_ERROR: Final = ApiError(ErrorCode.NONE)
