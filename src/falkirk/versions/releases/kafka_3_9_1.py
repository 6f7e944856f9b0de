"""What Kafka 3.9.1 changed since 3.8.1."""

from falkirk.versions.notation import Api, Feature, Level, MetadataVersionRow, MetadataVersions, Record, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.9.1",
    since="3.8.1",
    read_from="jars",
    apis=(
        Api(0, "Produce", "0-11", deprecated="0-2"),
        Api(1, "Fetch", "0-17", deprecated="0-3"),
        Api(2, "ListOffsets", "0-9", deprecated="0"),
        Api(3, "Metadata", "0-12"),
        Api(10, "FindCoordinator", "0-6"),
        Api(17, "SaslHandshake", "0-1"),
        Api(18, "ApiVersions", "0-4"),
        Api(42, "DeleteGroups", "0-2"),
        Api(52, "Vote", "0-1"),
        Api(53, "BeginQuorumEpoch", "0-1", flexible=1),
        Api(54, "EndQuorumEpoch", "0-1", flexible=1),
        Api(55, "DescribeQuorum", "0-2"),
        Api(59, "FetchSnapshot", "0-1"),
        Api(62, "BrokerRegistration", "0-4"),
        Api(76, "ShareGroupHeartbeat", "0", stable="none", flexible=0, listeners="broker"),
        Api(77, "ShareGroupDescribe", "0", stable="none", flexible=0, listeners="broker"),
        Api(78, "ShareFetch", "0", stable="none", flexible=0, listeners="broker"),
        Api(79, "ShareAcknowledge", "0", stable="none", flexible=0, listeners="broker"),
        Api(80, "AddRaftVoter", "0", flexible=0, listeners="broker controller", forwardable=True),
        Api(81, "RemoveRaftVoter", "0", flexible=0, listeners="broker controller", forwardable=True),
        Api(82, "UpdateRaftVoter", "0", flexible=0, listeners="controller"),
        Api(83, "InitializeShareGroupState", "0", stable="none", flexible=0, listeners="broker", cluster_action=True),
        Api(84, "ReadShareGroupState", "0", stable="none", flexible=0, listeners="broker", cluster_action=True),
        Api(85, "WriteShareGroupState", "0", stable="none", flexible=0, listeners="broker", cluster_action=True),
        Api(86, "DeleteShareGroupState", "0", stable="none", flexible=0, listeners="broker", cluster_action=True),
        Api(87, "ReadShareGroupStateSummary", "0", stable="none", flexible=0, listeners="broker", cluster_action=True),
    ),
    metadata_versions=MetadataVersions(
        minimum="3.0-IV1",
        latest_production="3.9-IV0",
        latest_testing="4.0-IV1",
        minimum_bootstrap="3.3-IV0",
        drafts=(
            MetadataVersionRow(
                "4.0-IV0",
                22,
                changes_metadata=True,
                unstable=True,
                supports="elr",
                writes={"partition_change": 2, "partition": 2},
            ),
            MetadataVersionRow("4.0-IV1", 23, unstable=True),
        ),
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
                    requires={"metadata.version": 21},
                    brings="reconfiguration",
                    writes={"kraft_version_record": 0, "voters_record": 0, "quorum_state": 1},
                ),
            ),
        ),
        Feature(
            "transaction.version",
            "none",
            levels=(
                Level(0),
                Level(1, "4.0-IV0"),
                Level(2, "4.0-IV0"),
            ),
        ),
    ),
    group_records=(
        Record(9, "ShareGroupPartitionMetadata", "0", flexible=0),
        Record(10, "ShareGroupMemberMetadata", "0", flexible=0),
        Record(11, "ShareGroupMetadata", "0", flexible=0),
    ),
)
