"""What Kafka 3.0.2 changed since 2.8.2."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.0.2",
    since="2.8.2",
    read_from="api ranges",
    apis=(
        Api(2, "ListOffsets", "0-7"),
        Api(3, "Metadata", listeners="zkBroker broker"),
        Api(9, "OffsetFetch", "0-8"),
        Api(10, "FindCoordinator", "0-4"),
        Api(22, "InitProducerId", listeners="zkBroker broker"),
        Api(24, "AddPartitionsToTxn", listeners="zkBroker broker"),
        Api(25, "AddOffsetsToTxn", listeners="zkBroker broker"),
        Api(26, "EndTxn", listeners="zkBroker broker"),
        Api(28, "TxnOffsetCommit", listeners="zkBroker broker"),
        Api(29, "DescribeAcls", listeners="zkBroker broker controller"),
        Api(30, "CreateAcls", listeners="zkBroker broker controller"),
        Api(31, "DeleteAcls", listeners="zkBroker broker controller"),
        Api(33, "AlterConfigs", listeners="zkBroker broker controller"),
        Api(37, "CreatePartitions", listeners="zkBroker broker controller"),
        Api(43, "ElectLeaders", listeners="zkBroker broker controller"),
        Api(45, "AlterPartitionReassignments", listeners="zkBroker broker controller"),
        Api(46, "ListPartitionReassignments", listeners="zkBroker broker controller", forwardable=True),
        Api(48, "DescribeClientQuotas", listeners="zkBroker broker"),
        Api(55, "DescribeQuorum", forwardable=True),
        Api(57, "UpdateFeatures", listeners="zkBroker broker"),
        Api(64, "UnregisterBroker", listeners="controller"),
        Api(65, "DescribeTransactions", "0", flexible=0, listeners="zkBroker broker"),
        Api(66, "ListTransactions", "0", flexible=0, listeners="zkBroker broker"),
        Api(
            67,
            "AllocateProducerIds",
            "0",
            flexible=0,
            listeners="zkBroker controller",
            forwardable=True,
            cluster_action=True,
        ),
    ),
)
