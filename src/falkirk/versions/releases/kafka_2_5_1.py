"""What Kafka 2.5.1 changed since 2.4.1."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="2.5.1",
    since="2.4.1",
    read_from="api ranges",
    derived="listeners: the jars before 2.8 name none, and there were only ZooKeeper brokers to serve an API",
    apis=(
        Api(9, "OffsetFetch", "0-7"),
        Api(11, "JoinGroup", "0-7"),
        Api(14, "SyncGroup", "0-5"),
        Api(22, "InitProducerId", "0-3"),
        Api(28, "TxnOffsetCommit", "0-3", flexible=3),
        Api(29, "DescribeAcls", "0-2", flexible=2),
        Api(30, "CreateAcls", "0-2", flexible=2),
        Api(31, "DeleteAcls", "0-2", flexible=2),
        Api(36, "SaslAuthenticate", "0-2", flexible=2),
        Api(37, "CreatePartitions", "0-2", flexible=2),
        Api(39, "RenewDelegationToken", "0-2", flexible=2),
        Api(40, "ExpireDelegationToken", "0-2", flexible=2),
        Api(41, "DescribeDelegationToken", "0-2", flexible=2),
    ),
)
