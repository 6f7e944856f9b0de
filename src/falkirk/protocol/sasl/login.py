"""Who a client is: a mechanism, and what its login module says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.sasl.errors import JaasConfigError
from falkirk.protocol.sasl.jaas_config import PLAIN_LOGIN_MODULE, SCRAM_LOGIN_MODULE, parse_jaas_config
from falkirk.protocol.sasl.plain import PLAIN, PlainClient
from falkirk.protocol.sasl.scram_client import ScramClient, ScramPassword
from falkirk.protocol.sasl.scram_mechanism import SCRAM_MECHANISMS
from falkirk.protocol.sasl.scram_messages import TOKEN_AUTH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.jaas_config import LoginModule
    from falkirk.protocol.sasl.server import SaslClient

MECHANISMS: Final = (PLAIN, *SCRAM_MECHANISMS)
"""Those that are there. GSSAPI and OAUTHBEARER are not."""
NONCE_BYTES: Final = 16
"""Chance in a nonce."""


@dataclass(frozen=True, slots=True)
class Login:
    """Name and password for one mechanism; nothing of it is ever shown."""

    mechanism: str
    secret: tuple[str, str] | ScramPassword

    def __repr__(self) -> str:
        """Show the mechanism alone."""
        return f"Login({self.mechanism})"

    @property
    def name(self) -> str:
        """The user's name, or the id of a delegation token."""
        return self.secret.name if isinstance(self.secret, ScramPassword) else self.secret[0]

    def start(self, random: Chance) -> SaslClient:
        """Begin an exchange."""
        if isinstance(self.secret, ScramPassword):
            return ScramClient(self.secret, nonce=make_nonce(random))
        return PlainClient(*self.secret)


def read_login(mechanism: str, jaas_config: str) -> Login:
    """Read what a client needs, of one of MECHANISMS. Raises JaasConfigError."""
    options = read_module(mechanism, jaas_config).options
    name, password = (_option(options, key) for key in ("username", "password"))
    if mechanism == PLAIN:
        return Login(mechanism, (name, password))
    is_token = options.get(TOKEN_AUTH, "").lower() == "true"
    return Login(mechanism, ScramPassword(SCRAM_MECHANISMS[mechanism], name, password, is_token=is_token))


def read_module(mechanism: str, jaas_config: str) -> LoginModule:
    """Read the login module, which must be that of the mechanism. Raises JaasConfigError."""
    module = parse_jaas_config(jaas_config)
    wanted = PLAIN_LOGIN_MODULE if mechanism == PLAIN else SCRAM_LOGIN_MODULE
    if module.name != wanted:
        raise JaasConfigError(f"the login module of {mechanism} is {wanted}, not {module.name}")
    return module


def make_nonce(random: Chance) -> str:
    """Make a text that was never used before."""
    return random.randbytes(NONCE_BYTES).hex()


def _option(options: Mapping[str, str], key: str) -> str:
    if key not in options:
        raise JaasConfigError(f"Value not specified for key '{key}' in JAAS config")
    return options[key]
