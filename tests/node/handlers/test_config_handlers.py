"""The APIs of configs: who may, what travels."""

import pytest
from controllers import CONTROLLER_ID, make_controller, run
from immutables import Map
from node_views import context_of, over_the_wire, view_of

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.acls import ALLOW, Acl, AclsImage
from falkirk.metadata.image.configs import BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP, TOPIC
from falkirk.node.handlers.parts.handler_result import InSlices
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    AlterConfigsRequest,
    ConfigRecord,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    TopicRecord,
)
from falkirk.protocol.messages import alter_configs_request as legacy
from falkirk.protocol.messages import incremental_alter_configs_request as incremental
from falkirk.protocol.messages.describe_configs_request import DescribeConfigsResource
from falkirk.slices import exhaust

SET = 0


def cluster(**settings):
    return make_controller(brokers=[1], records=[TopicRecord("foo", b"f" * 16)], **settings)


def ask(controller, request, version=None, *, context=None, **fields):
    """Send a request through the wire to its handler, and its answer back; return the answer and the records."""
    context = context_of(request, version, **(context or {}))
    route = ROUTES[context.api_key]
    given = over_the_wire(request, context.api_version)
    result = route.handler(view_of(controller, **fields), context, given)
    records = []
    if isinstance(result, InSlices):
        result = exhaust(result.decide())
    if isinstance(result, ControllerResult):
        records = [record for record, _ in result.records]
        result = run(controller, result)
    return over_the_wire(result, context.api_version), records


def change(kind, name, *configs, validate_only=False):
    """Return the request that sets configs, in its two forms."""
    return (
        IncrementalAlterConfigsRequest(
            [
                incremental.AlterConfigsResource(
                    kind, name, [incremental.AlterableConfig(key, SET, value) for key, value in configs]
                )
            ],
            validate_only,
        ),
        AlterConfigsRequest(
            [legacy.AlterConfigsResource(kind, name, [legacy.AlterableConfig(key, value) for key, value in configs])],
            validate_only,
        ),
    )


def told(response):
    return [
        (ErrorCode(answer.error_code).name, answer.resource_type, answer.resource_name) for answer in response.responses
    ]


FORMS = (0, 1)


@pytest.mark.parametrize("form", FORMS)
def test_configs_are_changed_in_every_version(form):
    request = change(BROKER, "1", ("a.b", "c"))[form]
    for version in request.SCHEMA.info.versions:
        response, records = ask(cluster(), request, version)
        assert told(response) == [("NONE", BROKER, "1")]
        assert records == [ConfigRecord(BROKER, "1", "a.b", "c")]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_only_validated_is_not_written(form):
    good = change(TOPIC, "foo", ("retention.ms", "5"), validate_only=True)[form]
    bad = change(TOPIC, "foo", ("retention.ms", "x"), validate_only=True)[form]
    may = allowing(AclOperation.ALTER_CONFIGS, ResourceType.TOPIC, "foo")
    response, records = ask(cluster(), good, authorizer=may)
    assert (told(response), records) == ([("NONE", TOPIC, "foo")], [])
    assert told(ask(cluster(), bad, authorizer=may)[0]) == [("INVALID_CONFIG", TOPIC, "foo")]


def allowing(operation, kind, name):
    return Authorizer.of(AclsImage(Map({b"i" * 16: Acl(kind, name, 3, "User:*", "*", operation, ALLOW)})))


RIGHTS = {
    (TOPIC, "foo"): (ResourceType.TOPIC, "foo", "TOPIC_AUTHORIZATION_FAILED"),
    (GROUP, "g"): (ResourceType.GROUP, "g", "GROUP_AUTHORIZATION_FAILED"),
    (BROKER, ""): (ResourceType.CLUSTER, "kafka-cluster", "CLUSTER_AUTHORIZATION_FAILED"),
    (CLIENT_METRICS, "s"): (ResourceType.CLUSTER, "kafka-cluster", "CLUSTER_AUTHORIZATION_FAILED"),
}


@pytest.mark.parametrize(("kind", "name"), RIGHTS)
def test_a_resource_is_protected_by_its_own_right_and_by_no_other(kind, name):
    resource, resource_name, error = RIGHTS[kind, name]
    describe = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)])
    for form in FORMS:
        request = change(kind, name)[form]
        may = allowing(AclOperation.ALTER_CONFIGS, resource, resource_name)
        assert told(ask(cluster(), request, authorizer=may)[0]) == [("NONE", kind, name)]
        may_not = allowing(AclOperation.DESCRIBE_CONFIGS, resource, resource_name)
        assert told(ask(cluster(), request, authorizer=may_not)[0]) == [(error, kind, name)]
    may = allowing(AclOperation.DESCRIBE_CONFIGS, resource, resource_name)
    assert ask(cluster(), describe, authorizer=may)[0].results[0].error_code == 0
    may_not = allowing(AclOperation.ALTER, resource, resource_name)
    assert ErrorCode(ask(cluster(), describe, authorizer=may_not)[0].results[0].error_code).name == error


@pytest.mark.parametrize("form", FORMS)
def test_a_resource_that_stands_twice_is_refused_and_others_are_not(form):
    request = change(BROKER, "1", ("a", "b"))[form]
    request.resources = [*request.resources * 3, *change(BROKER, "", ("c", "d"))[form].resources]
    response, records = ask(cluster(), request)
    assert sorted(told(response)) == [("INVALID_REQUEST", BROKER, "1"), ("NONE", BROKER, "")]
    assert records == [ConfigRecord(BROKER, "", "c", "d")]


@pytest.mark.parametrize(
    ("release", "kind", "error"),
    [
        ("4.4", BROKER_LOGGER, "INVALID_REQUEST"),
        ("4.4", 64, "UNSUPPORTED_VERSION"),
        ("3.9", GROUP, "UNSUPPORTED_VERSION"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_resources_that_a_controller_does_not_keep_are_refused(form, release, kind, error):
    response, records = ask(cluster(release=release), change(kind, "1", ("a", "b"))[form])
    assert (told(response), records) == ([(error, kind, "1")], [])


def test_a_broker_that_forwards_may_cordon_directories():
    request = change(BROKER, "1", ("cordoned.log.dirs", "/a"))[0]
    assert told(ask(cluster(), request)[0])[0][0] == "INVALID_CONFIG"
    assert told(ask(cluster(), request, context={"is_forwarded": True})[0])[0][0] == "NONE"


# --- DescribeConfigs


def describe(controller, kind, name, keys=None, *, version=None, synonyms=False, documentation=False, **fields):
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], synonyms, documentation)
    may = {"authorizer": Authorizer(allow_everyone=True)}
    (result,) = ask(controller, request, version, **(may | fields))[0].results
    return result


def test_only_the_configs_are_told_that_are_asked_for():
    result = describe(cluster(), TOPIC, "foo", ["retention.ms", "no.such"])
    assert [config.name for config in result.configs] == ["retention.ms"]
    assert len(describe(cluster(), TOPIC, "foo", []).configs) > 30


def test_synonyms_are_told_on_demand():
    controller = cluster()
    (config,) = describe(controller, TOPIC, "foo", ["segment.bytes"]).configs
    assert config.synonyms == []
    (config,) = describe(controller, TOPIC, "foo", ["segment.bytes"], synonyms=True).configs
    assert [synonym.name for synonym in config.synonyms] == ["log.segment.bytes"]


@pytest.mark.parametrize(
    ("kind", "name", "key", "anchor"),
    [
        (TOPIC, "foo", "retention.ms", "topicconfigs_retention.ms"),
        (BROKER, str(CONTROLLER_ID), "num.partitions", "brokerconfigs_num.partitions"),
        (GROUP, "any", "consumer.session.timeout.ms", "groupconfigs_consumer.session.timeout.ms"),
    ],
)
def test_where_kafkas_documentation_of_a_config_stands_is_told_on_demand(kind, name, key, anchor):
    (config,) = describe(cluster(), kind, name, [key]).configs
    assert config.documentation is None
    (config,) = describe(cluster(), kind, name, [key], documentation=True).configs
    assert config.documentation.endswith(f"#{anchor}")


@pytest.mark.parametrize("version", range(5))
def test_configs_are_described_in_every_version(version):
    controller = cluster(release="3.9")
    ask(controller, change(TOPIC, "foo", ("retention.ms", "5"))[0], authorizer=Authorizer(allow_everyone=True))
    names = ["retention.ms", "segment.ms"]
    own, default = describe(controller, TOPIC, "foo", names, version=version, synonyms=version > 0).configs
    assert (own.value, default.value) == ("5", "604800000")
    if version == 0:
        assert (own.is_default, default.is_default) == (False, True)
    else:
        assert (own.config_source, default.config_source) == (1, 5)
    assert own.config_type == (5 if version >= 3 else 0)


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "bar", "UNKNOWN_TOPIC_OR_PARTITION"),
        (TOPIC, "b r", "INVALID_TOPIC_EXCEPTION"),
        (BROKER, "1", "INVALID_REQUEST"),  # is another node
        (BROKER, "x", "INVALID_REQUEST"),
        (BROKER, "", "NONE"),
        (BROKER, str(CONTROLLER_ID), "NONE"),
        (BROKER_LOGGER, str(CONTROLLER_ID), "INVALID_REQUEST"),
        (CLIENT_METRICS, "", "INVALID_REQUEST"),
        (CLIENT_METRICS, "any", "NONE"),
        (GROUP, "", "INVALID_REQUEST"),
        (GROUP, "any", "NONE"),
        (99, "x", "INVALID_REQUEST"),
    ],
)
def test_a_node_tells_what_it_knows(kind, name, error):
    result = describe(cluster(), kind, name)
    assert (ErrorCode(result.error_code).name, result.resource_type, result.resource_name) == (error, kind, name)
    assert (error == "NONE") or not result.configs


def test_a_node_tells_its_own_configs():
    static = {"node.id": str(CONTROLLER_ID), "num.partitions": "7"}
    result = describe(cluster(), BROKER, str(CONTROLLER_ID), ["num.partitions"], static_configs=static)
    assert [(config.value, config.config_source, config.read_only) for config in result.configs] == [("7", 4, True)]
