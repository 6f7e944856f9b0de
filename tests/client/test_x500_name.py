"""Names of certificates, as Java writes them by RFC 2253."""

from __future__ import annotations

from contextlib import suppress

import pytest
from cryptography.x509 import Name, NameAttribute, RelativeDistinguishedName
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID, ObjectIdentifier
from hypothesis import given
from hypothesis import strategies as st

from falkirk.client.x500_name import x500_name


def written(*attributes: NameAttribute) -> str:
    return x500_name(Name(attributes).public_bytes())


def test_the_last_part_comes_first_under_javas_keywords() -> None:
    assert (
        written(
            NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            NameAttribute(NameOID.STATE_OR_PROVINCE_NAME, "Hesse"),
            NameAttribute(NameOID.LOCALITY_NAME, "Kassel"),
            NameAttribute(NameOID.STREET_ADDRESS, "Main"),
            NameAttribute(NameOID.ORGANIZATION_NAME, "Example Ltd."),
            NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "Clients"),
            NameAttribute(NameOID.DOMAIN_COMPONENT, "org", _ASN1Type.IA5String),
            NameAttribute(NameOID.USER_ID, "u1"),
            NameAttribute(NameOID.COMMON_NAME, "alice"),
        )
        == "CN=alice,UID=u1,DC=org,OU=Clients,O=Example Ltd.,STREET=Main,L=Kassel,ST=Hesse,C=DE"
    )


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a,b+c", r"a\,b\+c"),
        ('<"x">;#\\', r"\<\"x\"\>\;\#\\"),
        (" a b ", r"\ a b\ "),
        ("  ", r"\ \ "),
        ("ä=ß", "ä=ß"),
    ],
)
def test_what_has_a_meaning_is_escaped(value: str, shown: str) -> None:
    assert written(NameAttribute(NameOID.COMMON_NAME, value)) == f"CN={shown}"


def test_parts_without_a_keyword_are_shown_in_hex() -> None:
    email = NameAttribute(NameOID.EMAIL_ADDRESS, "a@b", _ASN1Type.IA5String)
    assert written(email) == "1.2.840.113549.1.9.1=#1603614062"
    long = NameAttribute(ObjectIdentifier("2.999.70000"), "x" * 200)
    assert written(long) == "2.999.70000=#0c81c8" + "78" * 200


def test_a_part_of_several_attributes_is_joined_by_plus() -> None:
    part = RelativeDistinguishedName(
        [NameAttribute(NameOID.COMMON_NAME, "a"), NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, "b")]
    )
    assert sorted(x500_name(Name([part]).public_bytes()).split("+")) == ["CN=a", "OU=b"]


def test_there_may_be_no_name_at_all() -> None:
    assert x500_name(Name([]).public_bytes()) == ""


@given(st.binary(max_size=40))
def test_bytes_that_are_no_name_raise_nothing_else(data: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(x500_name(data), str)
