"""What Kafka 3.5.2 changed since 3.4.1."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.5.2",
    since="3.4.1",
    read_from="api ranges",
    apis=(
        Api(1, "Fetch", "0-15"),
        Api(2, "ListOffsets", "0-8"),
        Api(24, "AddPartitionsToTxn", "0-4", stable="0-3"),
        Api(50, "DescribeUserScramCredentials", listeners="zkBroker broker controller"),
        Api(51, "AlterUserScramCredentials", listeners="zkBroker broker controller"),
        Api(56, "AlterPartition", "0-3"),
        Api(68, "ConsumerGroupHeartbeat", "0", stable="none", flexible=0, listeners="zkBroker broker"),
    ),
)
