"""What Kafka 2.6.3 changed since 2.5.1."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="2.6.3",
    since="2.5.1",
    read_from="api ranges",
    derived="listeners: the jars before 2.8 name none, and there were only ZooKeeper brokers to serve an API",
    apis=(
        Api(5, "StopReplica", "0-3"),
        Api(16, "ListGroups", "0-4"),
        Api(21, "DeleteRecords", "0-2", flexible=2),
        Api(32, "DescribeConfigs", "0-3"),
        Api(35, "DescribeLogDirs", "0-2", flexible=2),
        Api(48, "DescribeClientQuotas", "0", listeners="zkBroker"),
        Api(49, "AlterClientQuotas", "0", listeners="zkBroker"),
    ),
)
