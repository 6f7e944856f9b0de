import pytest

from falkirk.protocol.codec import decode, encode
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.metadata_progress_tags import (
    METADATA_PROGRESS_SINCE,
    METADATA_PROGRESS_TAG,
    MetadataProgress,
    asks_metadata_progress,
    decode_metadata_progress,
    encode_metadata_progress,
    metadata_progress_question,
)

PROGRESS = MetadataProgress(
    snapshot_end_offset=12, snapshot_metadata_version=21, log_start_offset=12, applied_offset=15, holds_lowering=False
)
VERSIONS = [version for version in ApiVersionsRequest.SCHEMA.info.versions if version >= METADATA_PROGRESS_SINCE]


@pytest.mark.parametrize("version", VERSIONS)
def test_question_and_answer_survive_the_wire_in_every_version_with_tags(version):
    request = ApiVersionsRequest("a", "1", unknown_tagged_fields=metadata_progress_question())
    read = decode(ApiVersionsRequest, version, encode(request, version))
    assert asks_metadata_progress(read.unknown_tagged_fields)
    response = ApiVersionsResponse(unknown_tagged_fields=encode_metadata_progress(PROGRESS))
    told = decode(ApiVersionsResponse, version, encode(response, version))
    assert decode_metadata_progress(told.unknown_tagged_fields) == PROGRESS


@pytest.mark.parametrize("fields", [(), ((METADATA_PROGRESS_TAG, b"\0"),), ((METADATA_PROGRESS_TAG - 1, b"\1"),)])
def test_only_a_one_asks(fields):
    assert not asks_metadata_progress(fields)


@pytest.mark.parametrize(
    "fields",
    [(), ((7, b"{}"),), ((METADATA_PROGRESS_TAG, b"{"),), ((METADATA_PROGRESS_TAG, b'{"log_start_offset": 1}'),)],
    ids=["none", "another's", "no JSON", "another form"],
)
def test_what_is_not_told_or_cannot_be_read_is_none(fields):
    assert decode_metadata_progress(fields) is None
