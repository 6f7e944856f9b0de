"""What Kafka 4.1.1 changed since 4.0.0."""

from falkirk.versions.notation import Api, Feature, Level, MetadataVersionRow, MetadataVersions, Record, ReleaseChanges

CHANGES = ReleaseChanges(
    release="4.1.1",
    since="4.0.0",
    read_from="jars",
    apis=(
        Api(0, "Produce", "3-13"),
        Api(1, "Fetch", "4-18"),
        Api(8, "OffsetCommit", "2-10", stable="2-9"),
        Api(9, "OffsetFetch", "1-10", stable="1-9"),
        Api(11, "JoinGroup", "0-9"),
        Api(22, "InitProducerId", "0-6", stable="0-5"),
        Api(45, "AlterPartitionReassignments", "0-1"),
        Api(66, "ListTransactions", "0-2"),
        Api(74, "ListConfigResources", "0-1"),
        Api(76, "ShareGroupHeartbeat", "1"),
        Api(77, "ShareGroupDescribe", "1"),
        Api(78, "ShareFetch", "1"),
        Api(79, "ShareAcknowledge", "1"),
        Api(83, "InitializeShareGroupState", "0"),
        Api(84, "ReadShareGroupState", "0"),
        Api(85, "WriteShareGroupState", "0"),
        Api(86, "DeleteShareGroupState", "0"),
        Api(87, "ReadShareGroupStateSummary", "0"),
        Api(88, "StreamsGroupHeartbeat", "0", stable="none", flexible=0, listeners="broker"),
        Api(89, "StreamsGroupDescribe", "0", stable="none", flexible=0, listeners="broker"),
        Api(90, "DescribeShareGroupOffsets", "0", flexible=0, listeners="broker"),
        Api(91, "AlterShareGroupOffsets", "0", flexible=0, listeners="broker"),
        Api(92, "DeleteShareGroupOffsets", "0", flexible=0, listeners="broker"),
    ),
    metadata_versions=MetadataVersions(
        minimum="3.3-IV3",
        latest_production="4.1-IV1",
        latest_testing="4.2-IV1",
        drafts=(MetadataVersionRow("4.2-IV1", 29, unstable=True),),
    ),
    features=(
        Feature(
            "kraft.version",
            "0-1",
            levels=(
                Level(0, writes={"quorum_state": 0}),
                Level(
                    1,
                    "3.9-IV0",
                    brings="reconfiguration",
                    writes={"kraft_version_record": 0, "voters_record": 0, "quorum_state": 1},
                ),
            ),
        ),
        Feature(
            "share.version",
            "0-1",
            levels=(
                Level(0),
                Level(1, "4.2-IV0", brings="share_groups"),
            ),
        ),
        Feature(
            "streams.version",
            "none",
            levels=(
                Level(0),
                Level(1, "4.2-IV1", brings="streams_groups"),
            ),
        ),
    ),
    group_records=(
        Record(0, "LegacyOffsetCommit", "0"),
        Record(17, "StreamsGroupMetadata", "0", flexible=0),
        Record(19, "StreamsGroupMemberMetadata", "0", flexible=0),
        Record(20, "StreamsGroupTargetAssignmentMetadata", "0", flexible=0),
        Record(21, "StreamsGroupTargetAssignmentMember", "0", flexible=0),
        Record(22, "StreamsGroupCurrentMemberAssignment", "0", flexible=0),
        Record(23, "StreamsGroupTopology", "0", flexible=0),
        Record(9, "ShareGroupPartitionMetadata", "none"),
    ),
)
