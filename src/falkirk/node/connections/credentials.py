"""Credentials of clients: users of PLAIN, SCRAM credentials and delegation tokens of the image."""

from __future__ import annotations

from base64 import b64encode
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.security.delegation_token_control import token_hmac
from falkirk.metadata.image.scram import ScramUser
from falkirk.metadata.requests.request_context import Principal
from falkirk.protocol.sasl.login import make_nonce
from falkirk.protocol.sasl.plain import PLAIN, PlainServer
from falkirk.protocol.sasl.scram_mechanism import ITERATIONS_MIN, SCRAM_MECHANISMS, make_credential, salt_text
from falkirk.protocol.sasl.scram_server import ScramLogin, ScramServer
from falkirk.protocol.sasl.server import Authenticated

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.config.security_settings import ListenerSecurity
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.scram_mechanism import MadeCredential, ScramMechanism
    from falkirk.protocol.sasl.server import SaslServer

# Tokens whose credential is kept, because computing one takes some ms.
TOKEN_CREDENTIALS_MAX: Final = 1024
_SECRET_BYTES: Final = 32


class Credentials:
    """Starts SASL exchanges. `image` returns the published metadata; without `token_key` there are no tokens."""

    def __init__(self, image: Callable[[], MetadataImage], random: Chance, *, token_key: str | None) -> None:
        self._image = image
        self._random = random
        self._token_key = token_key
        self._token_credentials: OrderedDict[tuple[str, str], MadeCredential] = OrderedDict()
        # Drawn on first use: a node without SASL does not need it.
        self._secret = b""

    def start(self, mechanism: str, security: ListenerSecurity, now_ms: int) -> SaslServer:
        """Start an exchange of a mechanism that the listener has enabled."""
        if mechanism == PLAIN:
            return PlainServer(security.plain_users)
        scram = SCRAM_MECHANISMS[mechanism]
        if not self._secret:
            self._secret = self._random.randbytes(_SECRET_BYTES)
        find = partial(self._find, scram, now_ms)
        return ScramServer(scram, find, nonce=make_nonce(self._random), secret=self._secret)

    def _find(self, mechanism: ScramMechanism, now_ms: int, name: str, is_token: bool) -> ScramLogin | None:  # noqa: FBT001 - as ScramServer calls it
        if is_token:
            return self._find_token(mechanism, name, now_ms)
        credential = self._image().scram.credentials.get(ScramUser(mechanism.number, name))
        return None if credential is None else ScramLogin(credential, Authenticated("User", name))

    def _find_token(self, mechanism: ScramMechanism, token_id: str, now_ms: int) -> ScramLogin | None:
        token = self._image().delegation_tokens.tokens.get(token_id)
        if token is None or self._token_key is None:
            return None
        expires_ms = min(token.expiration_timestamp, token.max_timestamp)
        if expires_ms < now_ms:
            return None
        owner = Principal.parse(token.owner)
        credential = self._token_credential(mechanism, token_id, self._token_key)
        return ScramLogin(credential, Authenticated(owner.type, owner.name, is_token=True, expires_ms=expires_ms))

    def _token_credential(self, mechanism: ScramMechanism, token_id: str, token_key: str) -> MadeCredential:
        """Return the SCRAM credential of a token, whose password is its HMAC.

        The salt is sent to anyone who knows a token id; it depends on the secret key and reveals nothing.
        """
        key = (mechanism.name, token_id)
        found = self._token_credentials.get(key)
        if found is None:
            secret = token_hmac(token_key, token_id)
            salt = salt_text(token_hmac(token_key, f"salt:{token_id}"))
            found = make_credential(mechanism, b64encode(secret).decode(), salt, ITERATIONS_MIN)
            self._token_credentials[key] = found
            if len(self._token_credentials) > TOKEN_CREDENTIALS_MAX:
                self._token_credentials.popitem(last=False)
        self._token_credentials.move_to_end(key)
        return found
