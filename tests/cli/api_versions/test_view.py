from dataclasses import replace

from falkirk.cli.api_versions.view import ApiVersionsView
from falkirk.client.cluster_description import ClusterDescription, ClusterNode
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.operations.api_usability import ClientApis
from falkirk.protocol.endpoint import Endpoint
from falkirk.versions.negotiation import missing_of_features
from falkirk.versions.supported_range import SupportedRange

R = SupportedRange
CLIENT = ClientApis(
    release=None,
    ranges={0: R(3, 7), 1: R(3, 5), 3: R(1, 2), 18: R(0, 4)},
    expected=frozenset({0, 60}),
    avoided={18: frozenset({3, 4})},
)


def node(node_id, **fields):
    return ClusterNode(node_id=node_id, endpoint=Endpoint("b", 9000 + node_id), **fields)


def told(api_ranges, *, epoch=None, finalized=(), supported=()):
    return NodeVersions(
        api_ranges=api_ranges,
        supported_features=dict(supported),
        finalized_features={name: FinalizedVersionRange(level, level) for name, level in dict(finalized).items()},
        finalized_features_epoch=epoch,
    )


FIRST = told(
    {0: R(0, 9), 1: R(6, 8), 3: R(0, 0), 18: R(0, 4), 999: R(2, 2)},
    epoch=7,
    finalized={"metadata.version": 20},
    supported={"metadata.version": R(1, 21), "share.version": R(0, 1)},
)
SECOND = told(
    {0: R(4, 5), 18: R(3, 4)},
    epoch=9,
    finalized={"metadata.version": 21, "lost.version": 1},
    supported={"metadata.version": R(7, 30)},
)
DOWN = ConnectionFailedError(Endpoint("b", 9003), "cannot connect: Connection refused")


def view(found, features=None):
    nodes = tuple(node(node_id, rack="r1" if node_id == 2 else None) for node_id in found)
    return ApiVersionsView(
        kind="broker",
        cluster=ClusterDescription(cluster_id="c", controller_id=1, nodes=nodes),
        versions=found,
        client=CLIENT,
        features=features,
    )


def test_each_node_is_a_block_and_what_all_have_another():
    features = missing_of_features({"old": {0: R(4, 4)}, "new": {0: R(9, 9), 1: R(0, 9)}}, {0: R(4, 5)})
    assert list(view({1: FIRST, 2: SECOND, 3: DOWN}, features).text()) == [
        "b:9001 (id: 1 rack: null isFenced: false) -> (",
        "\tProduce(0): 0 to 9 [usable: 7],",
        "\tFetch(1): 6 to 8 [unusable: node too new],",
        "\tMetadata(3): 0 [unusable: node too old],",
        "\tApiVersions(18): 0 to 4 [usable: 2],",
        "\tDescribeCluster(60): UNSUPPORTED,",
        "\tUNKNOWN(999): 2",
        ")",
        "b:9002 (id: 2 rack: r1 isFenced: false) -> (",
        "\tProduce(0): 4 to 5 [usable: 5],",
        "\tApiVersions(18): 3 to 4 [unusable: version avoided],",
        "\tDescribeCluster(60): UNSUPPORTED",
        ")",
        "b:9003 (id: 3 rack: null isFenced: false) -> ERROR: b:9003: cannot connect: Connection refused",
        "Common to 2 brokers -> (",
        "\tProduce(0): 4 to 5 [usable: 5],",
        "\tApiVersions(18): 3 to 4 [unusable: version avoided],",
        "\tDescribeCluster(60): UNSUPPORTED",
        ")",
        "Features (finalized epoch: 9) -> (",
        "\tlost.version: not supported by all, finalized: 1,",
        "\tmetadata.version: 7 to 21, finalized: 21",
        ")",
        "Client features on 2 brokers -> (",
        "\told: usable,",
        (
            "\tnew: unusable: Produce (API 0) cannot be used: wanted version 9, offered versions 4-5; "
            "Fetch (API 1) cannot be used: wanted versions 0-9, offered none"
        ),
        ")",
    ]


def test_the_tool_of_an_older_release_does_not_print_whether_a_node_is_fenced():
    older = replace(view({1: told({})}), client=replace(CLIENT, shows_fencing=False))
    assert next(older.text()) == "b:9001 (id: 1 rack: null) -> ("


def test_one_node_alone_is_not_told_twice():
    lines = list(view({1: told({0: R(0, 9)})}).text())
    assert lines == [
        "b:9001 (id: 1 rack: null isFenced: false) -> (",
        "\tProduce(0): 0 to 9 [usable: 7],",
        "\tDescribeCluster(60): UNSUPPORTED",
        ")",
        "Features (finalized epoch: none) -> (",
        ")",
    ]


def test_where_no_node_answers_nothing_is_common():
    found = view({3: DOWN})
    assert list(found.text()) == [
        "b:9003 (id: 3 rack: null isFenced: false) -> ERROR: b:9003: cannot connect: Connection refused"
    ]
    document = found.document()
    assert (document["common_apis"], document["features"]) == ([], {"epoch": None, "finalized": {}, "supported": {}})


def test_the_document_says_the_same_by_fields():
    features = missing_of_features({"new": {0: R(9, 9)}}, {0: R(4, 5)})
    document = view({1: FIRST, 2: SECOND, 3: DOWN}, features).document()
    assert [each["error"] for each in document["nodes"]] == [None, None, str(DOWN)]
    assert document["nodes"][0]["apis"][1] == {
        "key": 1,
        "name": "Fetch",
        "min_version": 6,
        "max_version": 8,
        "usable_version": None,
        "unusable_because": "node too new",
    }
    assert document["nodes"][1]["finalized_features"] == {"metadata.version": 21, "lost.version": 1}
    assert [api["key"] for api in document["common_apis"]] == [0, 18]
    assert document["features"] == {
        "epoch": 9,
        "finalized": {"metadata.version": 21, "lost.version": 1},
        "supported": {"metadata.version": {"min_version": 7, "max_version": 21}},
    }
    assert document["client_features"] == {
        "new": {
            "usable": False,
            "missing": [
                {
                    "key": 0,
                    "name": "Produce",
                    "wanted": {"min_version": 9, "max_version": 9},
                    "offered": {"min_version": 4, "max_version": 5},
                    "avoided": [],
                }
            ],
        }
    }
