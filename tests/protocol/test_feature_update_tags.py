import pytest

from falkirk.protocol.codec import decode, encode
from falkirk.protocol.feature_update_tags import (
    FEATURE_UPDATE_TAG,
    FeatureUpdateDetails,
    allows_aborts,
    allows_forced_snapshot,
    decode_details,
    encode_consents,
    encode_details,
)
from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse

DETAILS = FeatureUpdateDetails(losses=[{"kind": "scram_credential"}], blockers=["broker 1"], undo_bundle="u.zip")


@pytest.mark.parametrize("forced_snapshot", [False, True])
@pytest.mark.parametrize("abort_transactions", [False, True])
def test_consents_survive_the_wire_one_by_one(forced_snapshot, abort_transactions):
    consents = encode_consents(forced_snapshot=forced_snapshot, abort_transactions=abort_transactions)
    request = UpdateFeaturesRequest(unknown_tagged_fields=consents)
    fields = decode(UpdateFeaturesRequest, 2, encode(request, 2)).unknown_tagged_fields
    assert (allows_forced_snapshot(fields), allows_aborts(fields)) == (forced_snapshot, abort_transactions)


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x01\x01"])
def test_only_a_one_is_consent(value):
    assert not allows_forced_snapshot(((FEATURE_UPDATE_TAG, value),))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_details_survive_the_wire_in_every_version(version):
    response = UpdateFeaturesResponse(unknown_tagged_fields=encode_details(DETAILS))
    read = decode(UpdateFeaturesResponse, version, encode(response, version))
    assert decode_details(read.unknown_tagged_fields) == DETAILS


@pytest.mark.parametrize(
    "fields",
    [(), ((7, b"{}"),), ((FEATURE_UPDATE_TAG, b"{"),), ((FEATURE_UPDATE_TAG, b'{"losses": 1}'),)],
    ids=["none", "another's", "no JSON", "another form"],
)
def test_details_that_are_not_told_or_cannot_be_read_are_none(fields):
    assert decode_details(fields) is None
