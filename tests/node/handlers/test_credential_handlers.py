"""The APIs of quotas, SCRAM credentials and delegation tokens: who may, what travels."""

import pytest
from controllers import make_controller
from immutables import Map
from node_views import ask

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.image.acls import ALLOW, Acl, AclsImage
from falkirk.metadata.requests.request_context import Principal
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterClientQuotasRequest,
    AlterUserScramCredentialsRequest,
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    DescribeUserScramCredentialsRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from falkirk.protocol.messages.alter_client_quotas_request import EntityData, EntryData, OpData
from falkirk.protocol.messages.alter_user_scram_credentials_request import (
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from falkirk.protocol.messages.create_delegation_token_request import CreatableRenewers
from falkirk.protocol.messages.describe_delegation_token_request import DescribeDelegationTokenOwner
from falkirk.protocol.messages.describe_user_scram_credentials_request import UserName

ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")
EVERY_OPERATION = frozenset(range(3, 16))
IMPLYING = {AclOperation.DESCRIBE: {3, 4, 6, 7}}
KEY = {"delegation.token.secret.key": "key"}


def names(codes):
    return [ErrorCode(code).name for code in codes]


# --- Quotas


def quota(name, value, *, remove=False, validate_only=False):
    entry = EntryData([EntityData("user", name)], [OpData("producer_byte_rate", value, remove)])
    return AlterClientQuotasRequest([entry], validate_only)


@pytest.mark.parametrize("version", range(2))
def test_quotas_are_changed(version):
    controller = make_controller()
    (entry,) = ask(controller, quota(None, 5.0), version).entries
    assert (entry.error_code, entry.error_message) == (0, None)
    assert [(entity.entity_type, entity.entity_name) for entity in entry.entity] == [("user", None)]
    assert controller.state.image.client_quotas.quota_count == 1
    ask(controller, quota(None, 0.0, remove=True), version)
    assert controller.state.image.client_quotas.quota_count == 0


def test_quotas_that_are_only_validated_are_not_written():
    controller = make_controller()
    assert names(entry.error_code for entry in ask(controller, quota("a", 5.0, validate_only=True)).entries) == ["NONE"]
    answer = ask(controller, quota("a", -5.0, validate_only=True))
    assert names(entry.error_code for entry in answer.entries) == ["INVALID_REQUEST"]
    assert controller.state.image.client_quotas.quota_count == 0


# --- SCRAM


def upsert(name, mechanism=1):
    return AlterUserScramCredentialsRequest([], [ScramCredentialUpsertion(name, mechanism, 4096, b"salt", b"password")])


def test_credentials_are_set_described_and_deleted():
    controller = make_controller()
    for request in (upsert("alice"), upsert("alice", 2), upsert("bob", 2)):
        assert names(result.error_code for result in ask(controller, request).results) == ["NONE"]
    everyone = ask(controller, DescribeUserScramCredentialsRequest(None)).results
    assert {result.user: [info.mechanism for info in result.credential_infos] for result in everyone} == {
        "alice": [1, 2],
        "bob": [2],
    }
    asked = [UserName(name) for name in ("bob", "carol", "alice", "alice")]
    told = {result.user: result for result in ask(controller, DescribeUserScramCredentialsRequest(asked)).results}
    assert names(told[name].error_code for name in ("alice", "bob", "carol")) == [
        "DUPLICATE_RESOURCE",
        "NONE",
        "RESOURCE_NOT_FOUND",
    ]
    assert told["bob"].credential_infos[0].iterations == 4096
    deletion = AlterUserScramCredentialsRequest([ScramCredentialDeletion("bob", 2)], [])
    assert names(result.error_code for result in ask(controller, deletion).results) == ["NONE"]
    assert len(controller.state.image.scram.credentials) == 2


REQUESTS = {
    "quotas": (quota("a", 1.0), AclOperation.ALTER_CONFIGS, lambda answer: answer.entries[0].error_code),
    "alter scram": (upsert("a"), AclOperation.ALTER, lambda answer: answer.results[0].error_code),
    "describe scram": (
        DescribeUserScramCredentialsRequest(None),
        AclOperation.DESCRIBE,
        lambda answer: answer.error_code,
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_they_need_their_right_on_the_cluster(name):
    request, operation, error = REQUESTS[name]
    controller = make_controller()
    assert error(ask(controller, request, operations=[operation])) == 0
    others = EVERY_OPERATION - {operation} - IMPLYING.get(operation, set())
    assert error(ask(controller, request, operations=others)) == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


# --- Tokens


def who(principal=ALICE, protocol="SASL_PLAINTEXT"):
    return {"principal": principal, "security_protocol": protocol}


def tokens_cluster():
    return make_controller(delegation_token_secret_key=KEY["delegation.token.secret.key"])


def nobody():
    return Authorizer()


def allowing(operation, kind, name, principal="User:alice"):
    return Authorizer.of(AclsImage(Map({b"i" * 16: Acl(kind, name, 3, principal, "*", operation, ALLOW)})))


def create(controller, principal=ALICE, owner=None, version=None, authorizer=None, **fields):
    request = CreateDelegationTokenRequest(renewers=[CreatableRenewers("User", "carol")], max_lifetime_ms=-1)
    if owner is not None:
        request.owner_principal_type, request.owner_principal_name = owner.type, owner.name
    context = who(principal) | fields
    return ask(controller, request, version, context=context, authorizer=authorizer or nobody())


@pytest.mark.parametrize("version", range(4))
def test_everyone_may_make_a_token_for_himself_in_every_version(version):
    answer = create(tokens_cluster(), version=version)
    assert (answer.error_code, answer.principal_type, answer.principal_name) == (0, "User", "alice")
    assert (answer.issue_timestamp_ms, answer.expiry_timestamp_ms) == (0, 24 * 3600 * 1000)
    assert len(answer.hmac) == 64
    assert answer.token_requester_principal_name == ("alice" if version == 3 else "")


def test_a_token_for_others_needs_a_right():
    controller = tokens_cluster()
    assert create(controller, owner=BOB).error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    may = allowing(AclOperation.CREATE_TOKENS, ResourceType.USER, "User:bob")
    answer = create(controller, owner=BOB, authorizer=may)
    assert (answer.error_code, answer.principal_name, answer.token_requester_principal_name) == (0, "bob", "alice")


REFUSED = [
    who(protocol="PLAINTEXT"),
    who(Principal("User", "alice", is_token_authenticated=True)),
    who(Principal(), "SSL"),
]


@pytest.mark.parametrize("context", REFUSED)
def test_who_has_not_proved_who_he_is_may_not_use_tokens(context):
    controller = tokens_cluster()
    requests = [
        CreateDelegationTokenRequest(None, None, [], -1),
        RenewDelegationTokenRequest(b"x", 1),
        ExpireDelegationTokenRequest(b"x", 1),
        DescribeDelegationTokenRequest(None),
    ]
    for request in requests:
        answer = ask(controller, request, context=context, static_configs=KEY)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert not controller.state.image.delegation_tokens.tokens


def test_without_a_secret_key_there_are_no_tokens():
    controller = make_controller()
    assert create(controller).error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    answer = ask(controller, DescribeDelegationTokenRequest(None), context=who())
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.parametrize("version", range(3))
def test_a_token_is_renewed_and_expired_in_every_version(version):
    controller = tokens_cluster()
    secret = create(controller).hmac
    renewed = ask(controller, RenewDelegationTokenRequest(secret, 5), version, context=who(), now_ms=7)
    assert (renewed.error_code, renewed.expiry_timestamp_ms) == (0, 12)
    expired = ask(controller, ExpireDelegationTokenRequest(secret, -1), version, context=who(), now_ms=9)
    assert (expired.error_code, expired.expiry_timestamp_ms) == (0, 9)
    again = ask(controller, RenewDelegationTokenRequest(secret, 5), version, context=who())
    assert again.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


def described(controller, principal, owners=None, version=None, authorizer=None):
    asked = None if owners is None else [DescribeDelegationTokenOwner(owner.type, owner.name) for owner in owners]
    request = DescribeDelegationTokenRequest(asked)
    fields = {"static_configs": KEY, "authorizer": authorizer or nobody()}
    return ask(controller, request, version, context=who(principal), **fields).tokens


@pytest.mark.parametrize("version", range(4))
def test_a_token_is_described_with_its_secret_in_every_version(version):
    controller = tokens_cluster()
    made = create(controller)
    (token,) = described(controller, ALICE, version=version)
    assert (token.token_id, token.hmac, token.principal_name) == (made.token_id, made.hmac, "alice")
    assert [renewer.principal_name for renewer in token.renewers] == ["carol"]
    assert token.token_requester_principal_name == ("alice" if version == 3 else "")


def test_tokens_are_told_to_whom_they_concern_and_to_who_may_see_them():
    controller = tokens_cluster()
    made = create(controller)
    dave = Principal("User", "dave")
    assert len(described(controller, Principal("User", "carol"))) == 1
    assert described(controller, dave) == []
    may = allowing(AclOperation.DESCRIBE, ResourceType.DELEGATION_TOKEN, made.token_id, "User:dave")
    assert len(described(controller, dave, authorizer=may)) == 1
    may = allowing(AclOperation.DESCRIBE_TOKENS, ResourceType.USER, "User:alice", "User:dave")
    assert len(described(controller, dave, authorizer=may)) == 1
    # Of those that are asked for.
    assert described(controller, ALICE, []) == []
    assert described(controller, ALICE, [dave]) == []
    assert len(described(controller, ALICE, [dave, ALICE])) == 1
