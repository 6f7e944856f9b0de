"""What Kafka 3.3.2 changed since 3.2.3."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.3.2",
    since="3.2.3",
    read_from="api ranges",
    apis=(
        Api(29, "DescribeAcls", "0-3"),
        Api(30, "CreateAcls", "0-3"),
        Api(31, "DeleteAcls", "0-3"),
        Api(35, "DescribeLogDirs", "0-4"),
        Api(38, "CreateDelegationToken", "0-3"),
        Api(41, "DescribeDelegationToken", "0-3"),
        Api(55, "DescribeQuorum", "0-1"),
        Api(56, "AlterPartition", "0-2"),
        Api(57, "UpdateFeatures", "0-1", listeners="zkBroker broker controller", forwardable=True, cluster_action=True),
        Api(64, "UnregisterBroker", listeners="broker controller"),
    ),
)
