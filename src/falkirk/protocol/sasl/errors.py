"""Why an exchange of SASL has failed."""

from __future__ import annotations


class AuthenticationFailedError(Exception):
    """The exchange has ended without anybody being authenticated; `reason` is for our own log.

    `client_message`: the error text for the client; None: none, because the reason could reveal which users exist.
    """

    def __init__(self, reason: str, *, client_message: str | None = None) -> None:
        self.reason = reason
        self.client_message = client_message
        super().__init__(reason)


class JaasConfigError(Exception):
    """A value of sasl.jaas.config that cannot be read; the text never quotes what may be a password."""
