"""Changes of SCRAM credentials."""

import hashlib
import hmac
from base64 import b64decode

import pytest
from controllers import make_controller, run

from falkirk.metadata.controller.security.scram_control import ScramUpsertion
from falkirk.metadata.image.scram import ScramUser
from falkirk.protocol.messages import RemoveUserScramCredentialRecord, UserScramCredentialRecord
from falkirk.slices import exhaust

SHA_256, SHA_512 = 1, 2


def user(name="alice", mechanism=SHA_256):
    return ScramUser(mechanism, name)


def upsertion(name="alice", mechanism=SHA_256, iterations=4096):
    return ScramUpsertion(user(name, mechanism), iterations, b"salt", b"salted")


def alter(controller, deletions=(), upsertions=()):
    """Change credentials; return the errors' names and the records."""
    result = exhaust(controller.scram.alter_credentials(deletions, upsertions))
    errors = {name: error.error_code.name for name, error in run(controller, result).items()}
    return errors, [record for record, _ in result.records]


@pytest.mark.parametrize(("mechanism", "digest"), [(SHA_256, hashlib.sha256), (SHA_512, hashlib.sha512)])
def test_what_is_kept_of_a_password_is_what_rfc_5802_says(mechanism, digest):
    controller = make_controller()
    errors, records = alter(controller, upsertions=[upsertion(mechanism=mechanism)])
    client_key = hmac.new(b"salted", b"Client Key", digest).digest()
    server_key = hmac.new(b"salted", b"Server Key", digest).digest()
    kept = UserScramCredentialRecord("alice", mechanism, b"salt", digest(client_key).digest(), server_key, 4096)
    assert (errors, records) == ({"alice": "NONE"}, [kept])


def test_a_server_signs_with_what_is_kept_as_in_the_example_of_rfc_7677():
    salt = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    credential = ScramUpsertion(user(), 4096, salt, salted).credential()
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    said = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    signature = hmac.new(credential.server_key, said, hashlib.sha256).digest()
    assert signature == b64decode("6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    # The client proves itself with a key that has the stored one as its digest.
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    mask = hmac.new(credential.stored_key, said, hashlib.sha256).digest()
    client_key = bytes(one ^ other for one, other in zip(proof, mask, strict=True))
    assert hashlib.sha256(client_key).digest() == credential.stored_key


def test_credentials_of_other_mechanisms_and_users_stay():
    controller = make_controller()
    alter(controller, upsertions=[upsertion(), upsertion("bob")])
    alter(controller, upsertions=[upsertion(mechanism=SHA_512)])
    assert alter(controller, [user()]) == ({"alice": "NONE"}, [RemoveUserScramCredentialRecord("alice", SHA_256)])
    assert set(controller.state.image.scram.credentials) == {user("bob"), user(mechanism=SHA_512)}


@pytest.mark.parametrize(
    ("deletions", "upsertions", "error"),
    [
        ([user()], [], "RESOURCE_NOT_FOUND"),
        ([user("")], [], "UNACCEPTABLE_CREDENTIAL"),
        ([user(mechanism=3)], [], "UNSUPPORTED_SASL_MECHANISM"),
        ([], [upsertion("")], "UNACCEPTABLE_CREDENTIAL"),
        ([], [upsertion(mechanism=0)], "UNSUPPORTED_SASL_MECHANISM"),
        ([], [upsertion(iterations=4095)], "UNACCEPTABLE_CREDENTIAL"),
        ([], [upsertion(iterations=16385)], "UNACCEPTABLE_CREDENTIAL"),
        ([], [upsertion(), upsertion()], "DUPLICATE_RESOURCE"),
        ([], [upsertion(), upsertion(mechanism=SHA_512)], "DUPLICATE_RESOURCE"),
        ([], [upsertion(), upsertion(), upsertion()], "DUPLICATE_RESOURCE"),
        ([user("carol")], [upsertion("carol")], "DUPLICATE_RESOURCE"),
        ([user("carol"), user("carol")], [], "DUPLICATE_RESOURCE"),
    ],
)
def test_a_user_is_refused_and_others_are_not(deletions, upsertions, error):
    controller = make_controller()
    alter(controller, upsertions=[upsertion("carol")])
    errors, records = alter(controller, deletions, [*upsertions, upsertion("dave")])
    assert sorted(errors.values()) == sorted((error, "NONE"))
    assert [record.name for record in records] == ["dave"]


@pytest.mark.parametrize("count", [4096, 16384])
def test_limits_of_iterations_are_inclusive(count):
    assert alter(make_controller(), upsertions=[upsertion(iterations=count)])[0] == {"alice": "NONE"}


def test_credentials_need_their_level():
    controller = make_controller(release="3.9", metadata_version="3.5-IV1")
    errors, records = alter(controller, [user()], [upsertion("bob")])
    assert (errors, records) == ({"alice": "UNSUPPORTED_VERSION", "bob": "UNSUPPORTED_VERSION"}, [])
    told = run(controller, exhaust(controller.scram.alter_credentials([user()], [])))["alice"].message
    assert told == "The current metadata.version does not support SCRAM"
