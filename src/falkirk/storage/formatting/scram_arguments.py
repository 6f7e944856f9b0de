"""Users of a new cluster: `SCRAM-SHA-256=[name=alice,password=secret]` (KIP-900, --add-scram)."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from falkirk.protocol.sasl.scram_mechanism import (
    ITERATIONS_MIN,
    SALT_BYTES,
    SCRAM_MECHANISMS,
    salt_text,
    salted_password,
    server_key,
    stored_key,
)
from falkirk.storage.formatting.errors import FormatterError

if TYPE_CHECKING:
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.sasl.scram_mechanism import ScramMechanism

_ITERATIONS_DEFAULT: Final = 4096
_ITERATIONS_MAX: Final = 16384
_UNQUOTED_EQUALS: Final = re.compile(r'=(?=(?:[^"]*"[^"]*")*[^"]*\Z)')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Credential:
    name: str
    salt: bytes
    iterations: int
    password: str | None
    salted_password: bytes | None


def parse_scram_argument(text: str, random: Chance) -> UserScramCredentialRecord:
    """Read one argument, as ScramParser does since 3.9. Raises FormatterError."""
    mechanism, components = _components(text.strip())
    name = components.pop("name", None)
    if name is None:
        raise FormatterError("You must supply 'name' to add-scram")
    salt_text, iterations_text = components.pop("salt", None), components.pop("iterations", None)
    salt = None if salt_text is None else _decode(salt_text, "salt")
    iterations = _ITERATIONS_DEFAULT if iterations_text is None else _iterations(iterations_text)
    password, salted_text = components.pop("password", None), components.pop("saltedpassword", None)
    salted_password = None
    if password is None:
        salted_password = _salted_password(salted_text, has_salt=salt is not None)
    if components:
        raise FormatterError(f"Unknown SCRAM configurations: {', '.join(sorted(components))}")
    _check_range(iterations, f" using {mechanism.name.replace('-', '_')}")
    credential = _Credential(
        name=name,
        salt=_random_salt(random) if salt is None else salt,
        iterations=iterations,
        password=password,
        salted_password=salted_password,
    )
    return _record(mechanism, credential)


def parse_older_scram_argument(text: str, random: Chance) -> UserScramCredentialRecord:
    """Read one argument, as the tools of 3.7 and 3.8 do: iterations need a salt, unknown keys are ignored.

    Raises FormatterError. Differs from Kafka: where those tools fail with a Java exception, the words are ours.
    """
    name, _, config = re.split(r"\s+", text, maxsplit=1)[0].partition("=")
    mechanism = SCRAM_MECHANISMS.get(name)
    if mechanism is None:
        raise FormatterError(f"The add-scram mechanism {name} is not supported.")
    given = _older_components(config)
    if "name" not in given:
        raise FormatterError("You must supply 'name' to add-scram")
    salt, iterations = _random_salt(random), _ITERATIONS_DEFAULT
    if "salt" in given:
        salt = _decode(given["salt"], "salt")
        if "iterations" not in given:
            raise FormatterError("You must supply 'iterations' with 'salt' to add-scram")
        iterations = _iterations(given["iterations"])
        _check_range(iterations, "")
    password, salted_text = given.get("password"), given.get("saltedpassword")
    if password is not None and salted_text is not None:
        raise FormatterError("You must only supply one of 'password' or 'saltedpassword' to add-scram")
    salted_password = None if password is not None else _salted_password(salted_text, has_salt="salt" in given)
    credential = _Credential(
        name=given["name"], salt=salt, iterations=iterations, password=password, salted_password=salted_password
    )
    return _record(mechanism, credential)


def _components(text: str) -> tuple[ScramMechanism, dict[str, str]]:
    name, equals, config = text.partition("=")
    if not equals:
        raise FormatterError(f"Failed to find equals sign in SCRAM argument '{text}'")
    mechanism = SCRAM_MECHANISMS.get(name)
    if mechanism is None:
        raise FormatterError(f"The add-scram mechanism {name} is not supported.")
    _check_brackets(config)
    components: dict[str, str] = {}
    for part in config[1:-1].split(","):
        key, equals, value = part.partition("=")
        if not equals:
            raise FormatterError(f"No equals sign found in SCRAM component: {part}")
        is_quoted = len(value) > 1 and value.startswith('"') and value.endswith('"')
        components[key] = value[1:-1] if is_quoted else value
    return mechanism, components


def _check_brackets(config: str) -> None:
    if not config.startswith("["):
        raise FormatterError("Expected configuration string to start with [")
    if not config.endswith("]"):
        raise FormatterError("Expected configuration string to end with ]")


def _older_components(config: str) -> dict[str, str]:
    _check_brackets(config)
    components: dict[str, str] = {}
    for part in config[1:-1].split(","):
        # Split at equals signs outside of quotes; only the first part behind one counts.
        key, *values = _UNQUOTED_EQUALS.split(part)
        if not values or not values[0]:
            raise FormatterError(f"No equals sign found in SCRAM component: {part}")
        components[key] = values[0].replace('"', "")
    return components


def _salted_password(text: str | None, *, has_salt: bool) -> bytes:
    if text is None:
        raise FormatterError("You must supply one of 'password' or 'saltedpassword' to add-scram")
    if not has_salt:
        raise FormatterError("You must supply 'salt' with 'saltedpassword' to add-scram")
    return _decode(text, "saltedPassword")


def _decode(text: str, what: str) -> bytes:
    try:
        # Java accepts base64 without padding.
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (Error, ValueError) as error:
        raise FormatterError(f"Failed to decode given {what}: {text}") from error


def _iterations(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,9}", text):
        raise FormatterError(f"Failed to parse iterations count: {text}")
    return int(text)


def _check_range(iterations: int, mechanism: str) -> None:
    if iterations < ITERATIONS_MIN:
        raise FormatterError(f"The 'iterations' value must be >= {ITERATIONS_MIN} for add-scram{mechanism}")
    if iterations > _ITERATIONS_MAX:
        raise FormatterError(f"The 'iterations' value must be <= {_ITERATIONS_MAX} for add-scram{mechanism}")


def _record(mechanism: ScramMechanism, credential: _Credential) -> UserScramCredentialRecord:
    salted = credential.salted_password
    if salted is None:
        assert credential.password is not None
        salted = salted_password(mechanism, credential.password, credential.salt, credential.iterations)
    return UserScramCredentialRecord(
        name=credential.name,
        mechanism=mechanism.number,
        salt=credential.salt,
        stored_key=stored_key(mechanism, salted),
        server_key=server_key(mechanism, salted),
        iterations=credential.iterations,
    )


def _random_salt(random: Chance) -> bytes:
    return salt_text(random.randbytes(SALT_BYTES))
