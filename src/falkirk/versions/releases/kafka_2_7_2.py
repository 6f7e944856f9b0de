"""What Kafka 2.7.2 changed since 2.6.3."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="2.7.2",
    since="2.6.3",
    read_from="api ranges",
    derived="listeners: the jars before 2.8 name none, and there were only ZooKeeper brokers to serve an API",
    apis=(
        Api(1, "Fetch", "0-12", flexible=12),
        Api(19, "CreateTopics", "0-6"),
        Api(20, "DeleteTopics", "0-5"),
        Api(22, "InitProducerId", "0-4"),
        Api(24, "AddPartitionsToTxn", "0-2"),
        Api(25, "AddOffsetsToTxn", "0-2"),
        Api(26, "EndTxn", "0-2"),
        Api(37, "CreatePartitions", "0-3"),
        Api(50, "DescribeUserScramCredentials", "0", flexible=0, listeners="zkBroker"),
        Api(51, "AlterUserScramCredentials", "0", flexible=0, listeners="zkBroker"),
        Api(52, "Vote", "0", flexible=0, listeners="zkBroker", cluster_action=True),
        Api(53, "BeginQuorumEpoch", "0", listeners="zkBroker", cluster_action=True),
        Api(54, "EndQuorumEpoch", "0", listeners="zkBroker", cluster_action=True),
        Api(55, "DescribeQuorum", "0", flexible=0, listeners="zkBroker", cluster_action=True),
        Api(56, "AlterIsr", "0", flexible=0, listeners="zkBroker", cluster_action=True),
        Api(57, "UpdateFeatures", "0", flexible=0, listeners="zkBroker"),
    ),
)
