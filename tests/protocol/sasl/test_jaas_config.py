"""sasl.jaas.config, as Java's tokens and Kafka's rules have it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.protocol.sasl.errors import JaasConfigError
from falkirk.protocol.sasl.jaas_config import PLAIN_LOGIN_MODULE, parse_jaas_config


def options(text: str) -> dict[str, str]:
    return dict(parse_jaas_config(f"{PLAIN_LOGIN_MODULE} required {text};").options)


def test_a_configuration_of_a_broker_is_read() -> None:
    module = parse_jaas_config(
        f'{PLAIN_LOGIN_MODULE} required\n  username="admin" password="admin-secret"\n  user_alice="alice-secret";'
    )
    assert module.name == PLAIN_LOGIN_MODULE
    assert module.options == {"username": "admin", "password": "admin-secret", "user_alice": "alice-secret"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('a="x y"', "x y"),
        ("a='x\"y'", 'x"y'),
        (r'a="x\"y\\z"', 'x"y\\z'),
        (r'a="\t\101\60\q"', "\tA0q"),
        ("a=word", "word"),
        ("a=a-b_c$d.e9", "a-b_c$d.e9"),
        ("a=w/* no */", "w"),
        ("a=w // no = no", "w"),
        ("a=w / no = no", "w"),
        ('a=""', ""),
        ('a="ä;="', "ä;="),
        ("a=x a=y", "y"),
    ],
)
def test_values_are_read_as_java_reads_them(text: str, value: str) -> None:
    assert options(text + "\n") == {"a": value}


def test_a_key_may_be_in_quotes() -> None:
    assert options('"user_a b"="x"') == {"user_a b": "x"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Login module not specified in JAAS config"),
        ("// nothing", "Login module not specified in JAAS config"),
        ("Module", "Login module control flag not specified in JAAS config"),
        ("Module maybe;", "Invalid login module control flag in JAAS config"),
        ("Module ;", "Login module control flag is not available in the JAAS config"),
        ("Module required", "JAAS config entry not terminated by semi-colon"),
        ("Module required a=b", "JAAS config entry not terminated by semi-colon"),
        ("Module required a;", "Value not specified for key 'a' in JAAS config"),
        ("Module required a=;", "Value not specified for key 'a' in JAAS config"),
        ("Module required a=1;", "Value not specified for key 'a' in JAAS config"),
        ("Module required a=-x;", "Value not specified for key 'a' in JAAS config"),
        ("Module required =b;", "Value not specified for key 'null' in JAAS config"),
        ("A required; B required;", "JAAS config property contains 2 login modules, should be 1 module"),
        ("com.sun.security.auth.module.JndiLoginModule required;", "JndiLoginModule is not allowed"),
    ],
)
def test_what_cannot_be_read_is_refused_as_kafka_refuses_it(text: str, told: str) -> None:
    with pytest.raises(JaasConfigError, match=told):
        parse_jaas_config(text)


@given(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])))
def test_any_value_can_be_quoted(value: str) -> None:
    quoted = value.replace("\\", "\\\\").replace('"', '\\"')
    assert options(f'a="{quoted}"') == {"a": value}


@given(st.text(max_size=40))
def test_no_text_does_anything_but_fail(text: str) -> None:
    with pytest.raises(JaasConfigError):
        parse_jaas_config(f'{text}\n Module maybe "')
