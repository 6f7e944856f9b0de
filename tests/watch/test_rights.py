"""What is refused is named by the ACL that would allow it, for the principal that asked."""

import pytest

from falkirk.client.config import ClientConfig
from falkirk.client.errors import ConnectionFailedError, NodeRefusedError
from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.watch.rights import missing_right

BROKER, CONTROLLER = Endpoint("b", 9092), Endpoint("c", 9093)


def sasl(name):
    return ClientConfig.from_properties(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{name}" password="x";',
        }
    )


SOURCE = LiveSource(
    brokers=(BROKER,), controllers=(CONTROLLER,), config=sasl("watcher"), controller_config=sasl("fetcher")
)


@pytest.mark.parametrize(
    ("endpoint", "api_name", "topic", "expected"),
    [
        (BROKER, "DescribeCluster", None, "DESCRIBE on CLUSTER kafka-cluster for User:watcher, at the brokers"),
        (CONTROLLER, "DescribeQuorum", None, "DESCRIBE on CLUSTER kafka-cluster for User:fetcher, at the controllers"),
        (
            CONTROLLER,
            "Fetch of __cluster_metadata",
            None,
            "CLUSTER_ACTION on CLUSTER kafka-cluster for User:fetcher, at the controllers",
        ),
        (
            BROKER,
            "Fetch of __transaction_state-3",
            "__transaction_state",
            "READ on TOPIC __transaction_state for User:watcher, at the brokers",
        ),
    ],
)
def test_what_was_refused_needs_an_acl_for_whoever_asked(endpoint, api_name, topic, expected):
    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED if topic is None else ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert missing_right(NodeRefusedError(endpoint, api_name, code), SOURCE, topic=topic) == expected


def test_what_failed_otherwise_needs_no_right():
    assert missing_right(NodeRefusedError(BROKER, "Metadata", ErrorCode.LEADER_NOT_AVAILABLE), SOURCE) is None
    assert missing_right(ConnectionFailedError(BROKER, "refused"), SOURCE) is None
