"""What Kafka 4.3.1 changed since 4.2.1."""

from falkirk.versions.notation import Api, MetadataVersions, Record, ReleaseChanges

CHANGES = ReleaseChanges(
    release="4.3.1",
    since="4.2.1",
    read_from="jars",
    apis=(
        Api(35, "DescribeLogDirs", "1-5"),
        Api(63, "BrokerHeartbeat", "0-2"),
    ),
    metadata_versions=MetadataVersions(minimum="3.3-IV3", latest_production="4.3-IV0", latest_testing="4.4-IV0"),
    metadata_records=(
        Record(0, "RegisterBrokerRecord", "0-4"),
        Record(17, "BrokerRegistrationChangeRecord", "0-3"),
    ),
)
