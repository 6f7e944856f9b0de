"""What Kafka 4.2.1 changed since 4.1.1."""

from falkirk.versions.notation import Api, Feature, Level, MetadataVersionRow, MetadataVersions, ReleaseChanges

CHANGES = ReleaseChanges(
    release="4.2.1",
    since="4.1.1",
    read_from="jars",
    apis=(
        Api(2, "ListOffsets", "1-11"),
        Api(8, "OffsetCommit", "2-10"),
        Api(9, "OffsetFetch", "1-10"),
        Api(27, "WriteTxnMarkers", "1-2"),
        Api(78, "ShareFetch", "1-2"),
        Api(79, "ShareAcknowledge", "1-2"),
        Api(80, "AddRaftVoter", "0-1"),
        Api(85, "WriteShareGroupState", "0-1"),
        Api(87, "ReadShareGroupStateSummary", "0-1"),
        Api(88, "StreamsGroupHeartbeat", "0"),
        Api(89, "StreamsGroupDescribe", "0"),
        Api(90, "DescribeShareGroupOffsets", "0-1"),
    ),
    metadata_versions=MetadataVersions(
        minimum="3.3-IV3",
        latest_production="4.2-IV1",
        latest_testing="4.3-IV0",
        drafts=(MetadataVersionRow("4.3-IV0", 30, unstable=True),),
    ),
    features=(
        Feature(
            "streams.version",
            "0-1",
            levels=(
                Level(0),
                Level(1, "4.2-IV1", brings="streams_groups"),
            ),
        ),
    ),
)
