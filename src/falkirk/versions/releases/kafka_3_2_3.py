"""What Kafka 3.2.3 changed since 3.1.2."""

from falkirk.versions.notation import Api, ReleaseChanges

CHANGES = ReleaseChanges(
    release="3.2.3",
    since="3.1.2",
    read_from="api ranges",
    apis=(
        Api(4, "LeaderAndIsr", "0-6"),
        Api(11, "JoinGroup", "0-9"),
        Api(13, "LeaveGroup", "0-5"),
        Api(35, "DescribeLogDirs", "0-3"),
        Api(56, "AlterPartition", "0-1"),
        Api(57, "UpdateFeatures", forwardable=False),
    ),
)
