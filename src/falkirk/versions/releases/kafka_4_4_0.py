"""What Kafka 4.4.0 changed since 4.3.1."""

from falkirk.versions.notation import Api, Feature, Level, MetadataVersions, Record, ReleaseChanges

CHANGES = ReleaseChanges(
    release="4.4.0",
    since="4.3.1",
    read_from="jars",
    apis=(
        Api(18, "ApiVersions", "0-5"),
        Api(28, "TxnOffsetCommit", "0-6"),
        Api(42, "DeleteGroups", "0-3"),
        Api(88, "StreamsGroupHeartbeat", "0-1"),
        Api(89, "StreamsGroupDescribe", "0-1"),
        Api(93, "StreamsGroupTopologyDescriptionUpdate", "0", flexible=0, listeners="broker"),
        Api(94, "UnregisterController", "0", flexible=0, listeners="broker controller", forwardable=True),
    ),
    metadata_versions=MetadataVersions(minimum="3.3-IV3", latest_production="4.4-IV2", latest_testing="4.5-IV0"),
    features=(
        Feature(
            "share.version",
            "0-2",
            levels=(
                Level(0),
                Level(1, "4.2-IV0", brings="share_groups"),
                Level(2, "4.4-IV0", brings="share_groups share_group_dlq"),
            ),
        ),
    ),
    metadata_records=(Record(29, "UnregisterControllerRecord", "0"),),
)
