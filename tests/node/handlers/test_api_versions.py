from dataclasses import replace

import pytest
from api_versions_answers import answers, ranges_of, view_like
from node_views import cluster_authorizer

from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.metadata.requests.request_context import Principal, RequestContext
from falkirk.node.handlers import api_versions
from falkirk.node.handlers.parts.handler_result import EncodedResponse
from falkirk.protocol import codec
from falkirk.protocol.messages import ApiVersionsRequest, ApiVersionsResponse
from falkirk.protocol.metadata_progress_tags import (
    MetadataProgress,
    decode_metadata_progress,
    metadata_progress_question,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release
from falkirk.versions.unbuilt import UNBUILT, served_ranges

ANSWERS = list(answers())
PLAIN = [answer for answer in ANSWERS if answer["asked"].isdigit()]
ME = ApiVersionsRequest(client_software_name="falkirk", client_software_version="1.0")


def names(answer):
    return f"{answer['release']}-{answer['quorum']}-{answer['listener']}-v{answer['asked'].replace(' ', '-')}"


def answer_to(view, version, request=ME):
    """Return the bytes of the answer to a request of a version, served or not."""
    if version not in view.api_ranges[18]:
        return codec.encode(api_versions.unsupported_version(view.api_ranges), 0)
    answer = api_versions.handle(view, RequestContext(api_key=18, api_version=version), request)
    return answer.body if isinstance(answer, EncodedResponse) else codec.encode(answer, version)


def decoded(answer):
    data = bytes.fromhex(answer["hex"])
    version = int(answer["asked"].split()[0])
    return codec.decode(ApiVersionsResponse, 0 if data[:2] == b"\0\x23" else version, data)


@pytest.mark.parametrize("answer", PLAIN, ids=names)
def test_a_node_with_every_api_answers_as_a_real_one_byte_for_byte(answer):
    release, listener = Release.parse(answer["release"]), Listener(answer["listener"])
    view = view_like(decoded(answer), release, ranges_of(release, listener))
    assert answer_to(view, int(answer["asked"])).hex() == answer["hex"]


@pytest.mark.parametrize("answer", PLAIN, ids=names)
def test_our_answer_is_the_real_one_without_what_is_not_built(answer):
    release, listener = Release.parse(answer["release"]), Listener(answer["listener"])
    real = decoded(answer)
    real.api_keys = [key for key in real.api_keys if (listener, key.api_key) not in UNBUILT]
    view = view_like(real, release, served_ranges(release, listener))
    version = int(answer["asked"]) if real.error_code == 0 else 0
    assert answer_to(view, int(answer["asked"])) == codec.encode(real, version)


@pytest.mark.parametrize("answer", [answer for answer in ANSWERS if not answer["asked"].isdigit()], ids=names)
def test_odd_requests_are_answered_as_real_nodes_do(answer):
    release, listener = Release.parse(answer["release"]), Listener(answer["listener"])
    version, _, kind = answer["asked"].partition(" ")
    request = {
        "odd software name": ApiVersionsRequest(client_software_name="falk!irk", client_software_version="1.0"),
        "cluster without node": ApiVersionsRequest("f", "1", cluster_id="x"),
        "other cluster": ApiVersionsRequest("f", "1", cluster_id="x", node_id=1),
        "other node": ApiVersionsRequest("f", "1", cluster_id="cluster", node_id=2),
        "this node": ApiVersionsRequest("f", "1", cluster_id="cluster", node_id=1),
    }[kind]
    view = view_like(decoded(answer), release, ranges_of(release, listener), listener=listener)
    assert answer_to(view, int(version), request).hex() == answer["hex"]


@pytest.mark.parametrize(
    ("name", "version", "error"), [("a", "1", 0), ("a-b.c", "1.0-x", 0), ("-a", "1", 42), ("a", "1 ", 42), ("", "", 42)]
)
def test_the_clients_software_must_look_like_a_name(name, version, error):
    release = Release.parse("4.3")
    view = view_like(ApiVersionsResponse(), release, served_ranges(release, Listener.CONTROLLER))
    request = ApiVersionsRequest(client_software_name=name, client_software_version=version)
    assert int.from_bytes(answer_to(view, 3, request)[:2], "big") == error
    assert int.from_bytes(answer_to(view, 2, request)[:2], "big") == 0


def test_without_metadata_there_are_no_finalized_features_and_no_epoch():
    release = Release.parse("4.3")
    view = view_like(ApiVersionsResponse(), release, served_ranges(release, Listener.CONTROLLER))
    told = codec.decode(ApiVersionsResponse, 4, answer_to(replace(view, image=EMPTY, features_epoch=-1), 4))
    assert (told.finalized_features, told.finalized_features_epoch) == ([], -1)


@pytest.mark.parametrize(("release", "told"), [("3.7", [("metadata.version", 1, 1)]), ("4.3", [])])
def test_a_log_without_a_level_is_at_level_1_where_the_release_knows_that(release, told):
    """As real 3.7.2 and 3.9.1 tell it."""
    runs = Release.parse(release)
    view = view_like(ApiVersionsResponse(), runs, served_ranges(runs, Listener.CONTROLLER), features_epoch=5)
    view = replace(view, image=EMPTY, supported_features=runs.supported_features())
    answer = codec.decode(ApiVersionsResponse, 3, answer_to(view, 3))
    features = [(each.name, each.min_version_level, each.max_version_level) for each in answer.finalized_features]
    assert features == told


def test_an_answer_is_encoded_once_until_something_in_it_changes():
    answer = next(each for each in PLAIN if names(each) == "4.3.1-dynamic-controller-v4")
    release = Release.parse("4.3")
    view = view_like(decoded(answer), release, served_ranges(release, Listener.CONTROLLER), features_epoch=7)
    first = answer_to(view, 4)
    later = replace(view, image=replace_provenance(view.image, 99), now_ms=5)
    assert answer_to(later, 4) is first
    assert codec.decode(ApiVersionsResponse, 4, first).finalized_features_epoch == 7
    assert answer_to(replace(later, features_epoch=98), 4) != first
    assert answer_to(replace(later, kraft_version=0), 4) != first
    assert answer_to(replace(later, features_epoch=-1), 4) != first
    assert answer_to(replace(later, api_ranges={18: view.api_ranges[18]}), 4) != first
    assert answer_to(replace(later, image=EMPTY), 4) != first


def replace_provenance(image, end_offset):
    import msgspec

    return msgspec.structs.replace(image, provenance=Provenance(end_offset, 1, 0))


def test_the_cache_is_bounded():
    release = Release.parse("4.3")
    view = view_like(ApiVersionsResponse(), release, served_ranges(release, Listener.CONTROLLER))
    for epoch in range(500):
        answer_to(replace(view, features_epoch=epoch), 4)
    assert len(api_versions._CACHE) <= 64


# --- Our own question: how far the node is with metadata

ASKING = ApiVersionsRequest("falkirk", "1.0", unknown_tagged_fields=metadata_progress_question())
PROGRESS = MetadataProgress(
    snapshot_end_offset=9, snapshot_metadata_version=21, log_start_offset=9, applied_offset=11, holds_lowering=False
)


def progress_view(operations=None):
    answer = next(each for each in PLAIN if names(each) == "4.3.1-dynamic-controller-v4")
    release = Release.parse("4.3")
    ranges = ranges_of(release, Listener.CONTROLLER)
    view = view_like(decoded(answer), release, ranges, metadata_progress=lambda: PROGRESS)
    return replace(view, authorizer=cluster_authorizer(operations)), answer


@pytest.mark.parametrize("version", [3, 4])
def test_who_asks_how_far_the_node_is_gets_kafkas_answer_and_our_field(version):
    view, _ = progress_view()
    told = codec.decode(ApiVersionsResponse, version, answer_to(view, version, ASKING))
    assert decode_metadata_progress(told.unknown_tagged_fields) == PROGRESS
    told.unknown_tagged_fields = ()
    assert codec.encode(told, version) == answer_to(view, version)


def test_who_does_not_ask_gets_kafkas_bytes_before_and_after_somebody_asked():
    view, answer = progress_view()
    first = answer_to(view, 4)
    assert first.hex() == answer["hex"]
    answer_to(view, 4, ASKING)
    assert answer_to(view, 4) is first
    other_tag = ApiVersionsRequest("falkirk", "1.0", unknown_tagged_fields=((9_999, b"\1"),))
    assert answer_to(view, 4, other_tag) is first


@pytest.mark.parametrize(
    ("context", "operations", "is_told"),
    [
        ({}, [AclOperation.DESCRIBE], True),
        ({}, [AclOperation.CREATE], False),
        ({"security_protocol": "SASL_SSL"}, [AclOperation.DESCRIBE], False),
        ({"security_protocol": "SASL_SSL", "principal": Principal(name="a")}, [AclOperation.DESCRIBE], True),
    ],
    ids=["may describe", "may not", "not authenticated", "authenticated"],
)
def test_it_is_told_to_those_who_may_describe_the_cluster_and_to_others_kafkas_answer(context, operations, is_told):
    view, answer = progress_view(operations)
    told = api_versions.handle(view, RequestContext(api_key=18, api_version=4, **context), ASKING)
    if is_told:
        assert decode_metadata_progress(told.unknown_tagged_fields) == PROGRESS
    else:
        assert told.body.hex() == answer["hex"]
