"""What Kafka 3.8.1 changed since 3.7.2."""

from falkirk.versions.notation import Api, ControlRecord, MetadataVersionRow, MetadataVersions, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.8.1",
    since="3.7.2",
    read_from="jars",
    apis=(
        Api(0, "Produce", "0-11", deprecated="0-6"),
        Api(10, "FindCoordinator", "0-5", deprecated="0"),
        Api(16, "ListGroups", "0-5"),
        Api(22, "InitProducerId", "0-5"),
        Api(24, "AddPartitionsToTxn", "0-5"),
        Api(25, "AddOffsetsToTxn", "0-4"),
        Api(26, "EndTxn", "0-4"),
        Api(28, "TxnOffsetCommit", "0-4"),
        Api(66, "ListTransactions", "0-1"),
        Api(69, "ConsumerGroupDescribe", "0"),
        Api(75, "DescribeTopicPartitions", "0", flexible=0, listeners="broker"),
    ),
    metadata_versions=MetadataVersions(
        minimum="3.0-IV1",
        latest_production="3.8-IV0",
        latest_testing="3.9-IV0",
        minimum_bootstrap="3.3-IV0",
        drafts=(
            MetadataVersionRow(
                "3.9-IV0",
                21,
                changes_metadata=True,
                unstable=True,
                supports="elr",
                writes={"partition_change": 2, "partition": 2},
            ),
        ),
    ),
    control_records=(
        ControlRecord(5, "KRAFT_VERSION", 0),
        ControlRecord(6, "KRAFT_VOTERS", 0),
    ),
)
