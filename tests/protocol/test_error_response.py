import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_strategies import even_message, message_strategy

from falkirk.protocol import codec
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import (
    REQUESTS,
    RESPONSES,
    AlterClientQuotasRequest,
    AlterReplicaLogDirsRequest,
    AlterUserScramCredentialsRequest,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    FetchRequest,
    MetadataRequest,
    alter_client_quotas_request,
    alter_replica_log_dirs_request,
    alter_user_scram_credentials_request,
    create_topics_request,
    delete_topics_request,
    fetch_request,
    message_class,
)
from falkirk.versions.api_support import Listener
from falkirk.versions.release import all_releases

OFFERED = sorted(
    {
        (key, version)
        for release in all_releases()
        if release.tables.kraft is not None
        for listener in (Listener.BROKER, Listener.CONTROLLER)
        for key, versions in release.api_ranges(listener, unstable=True).items()
        for version in versions
    }
)
SILENT = {(35, version) for version in range(3)}


def error_codes(struct, version):
    """Yield every error code that the version of a response can hold, wherever it is, with its path."""
    for field in struct.SCHEMA.fields:
        if version not in field.versions:
            continue
        value = getattr(struct, field.attribute)
        if field.attribute.endswith("error_code"):
            yield field.attribute, value
        if not isinstance(field.type, str) and value is not None:
            for element in value if field.is_array else [value]:
                for path, code in error_codes(element, version):
                    yield f"{field.attribute}/{path}", code


def test_every_api_and_version_that_a_profile_offers_has_an_answer_that_tells_the_error():
    for key, version in OFFERED:
        cls = message_class(REQUESTS[key])
        request = even_message(message_layout(cls, version, None), 2, 2)
        response = error_response(request, version, 41, "not here")
        data = codec.encode(response, version)
        assert codec.decode(message_class(RESPONSES[key]), version, data) == response, (key, version)
        codes = [code for path, code in error_codes(response, version) if path != "topics/topic_config_error_code"]
        told = {code for code in codes if code != 0}
        assert told == (set() if (key, version) in SILENT else {41}), (key, version)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_any_request_can_be_refused(data):
    key, version = data.draw(st.sampled_from(OFFERED))
    request = data.draw(message_strategy(message_class(REQUESTS[key]), version, None))
    response = error_response(request, version, -1, data.draw(st.none() | st.text(max_size=5)))
    assert codec.decode(message_class(RESPONSES[key]), version, codec.encode(response, version)) == response


def test_topics_come_back_by_name_with_the_message_where_there_is_room_for_one():
    request = CreateTopicsRequest(topics=[create_topics_request.CreatableTopic(name=name) for name in "ab"])
    response = error_response(request, 7, 41, "ask node 3")
    assert isinstance(response, CreateTopicsResponse)
    assert [(topic.name, topic.error_code, topic.error_message) for topic in response.topics] == [
        ("a", 41, "ask node 3"),
        ("b", 41, "ask node 3"),
    ]
    assert codec.decode(CreateTopicsResponse, 0, codec.encode(error_response(request, 0, 41, "lost"), 0))


def test_topics_to_delete_come_back_by_what_the_version_calls_them():
    old = error_response(DeleteTopicsRequest(topic_names=("a",)), 5, 41)
    assert [topic.name for topic in old.responses] == ["a"]
    state = delete_topics_request.DeleteTopicState
    new = error_response(DeleteTopicsRequest(topics=[state(name=None, topic_id=b"x" * 16)]), 6, 41)
    assert [(topic.name, topic.topic_id) for topic in new.responses] == [(None, b"x" * 16)]


def test_fetch_tells_its_partitions_as_long_as_clients_look_there():
    topic = fetch_request.FetchTopic(topic="t", partitions=[fetch_request.FetchPartition(partition=3)])
    request = FetchRequest(session_id=9, topics=[topic])
    old = error_response(request, 12, 41)
    (partition,) = old.responses[0].partitions
    assert (old.error_code, old.session_id) == (41, 9)
    assert (partition.partition_index, partition.error_code, partition.high_watermark) == (3, 41, -1)
    assert error_response(request, 13, 41).responses == []


def test_metadata_of_all_topics_has_none_to_tell_the_error_of():
    assert error_response(MetadataRequest(topics=None), 9, 41).topics == []


def test_quotas_come_back_by_their_entity():
    entity = alter_client_quotas_request.EntityData(entity_type="user", entity_name=None)
    request = AlterClientQuotasRequest(entries=[alter_client_quotas_request.EntryData(entity=[entity])])
    (entry,) = error_response(request, 1, 41).entries
    assert (entry.error_code, entry.entity[0].entity_type, entry.entity[0].entity_name) == (41, "user", None)


def test_users_come_back_once():
    change = alter_user_scram_credentials_request
    request = AlterUserScramCredentialsRequest(
        deletions=[change.ScramCredentialDeletion(name="b"), change.ScramCredentialDeletion(name="a")],
        upsertions=[change.ScramCredentialUpsertion(name="b")],
    )
    assert [(result.user, result.error_code) for result in error_response(request, 0, 41).results] == [
        ("a", 41),
        ("b", 41),
    ]


def test_topics_of_several_directories_are_one_list():
    move = alter_replica_log_dirs_request
    topic = move.AlterReplicaLogDirTopic(name="t", partitions=(0, 1))
    request = AlterReplicaLogDirsRequest(dirs=[move.AlterReplicaLogDir(path=path, topics=[topic]) for path in "xy"])
    results = error_response(request, 2, 41).results
    assert [[result.topic_name, *(each.partition_index for each in result.partitions)] for result in results] == [
        ["t", 0, 1],
        ["t", 0, 1],
    ]
