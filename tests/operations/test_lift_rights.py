import pytest

from falkirk.client.cluster_description import ClusterDescription
from falkirk.metadata.acls.acl_types import AclOperation
from falkirk.operations.lift_rights import missing_at_brokers

ALTER, DESCRIBE = 1 << AclOperation.ALTER, 1 << AclOperation.DESCRIBE


@pytest.mark.parametrize(
    ("operations", "missing"),
    [(None, []), (ALTER | DESCRIBE, []), (DESCRIBE, ["ALTER"]), (0, ["DESCRIBE"])],
)
def test_the_rights_are_those_that_brokers_report_as_missing(operations, missing):
    cluster = ClusterDescription(cluster_id="c", controller_id=1, nodes=(), authorized_operations=operations)
    found = missing_at_brokers(cluster, "User:alice")
    assert [str(each) for each in found] == [
        f"{name} on CLUSTER kafka-cluster for User:alice, at the brokers" for name in missing
    ]
