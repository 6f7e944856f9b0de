import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.FindCoordinatorRequest;
import org.apache.kafka.common.requests.OffsetCommitRequest;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatRequest;

/** Streams groups (KIP-1071), by raw heartbeats: a whole Kafka Streams application would be needed otherwise. */
final class SeedStreamsGroups {
    private static final int LEAVE = -1;
    private static final short OFFSET_COMMIT_BY_NAME = 9;
    private static final Set<Errors> NOT_YET = Set.of(Errors.NOT_COORDINATOR, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.COORDINATOR_NOT_AVAILABLE);
    private final Seed seed;
    private final Names names;

    SeedStreamsGroups(Seed seed) {
        this.seed = seed;
        this.names = seed.names;
    }

    void streamsGroups() throws Exception {
        String joined = names.of("streams-joined");
        String source = names.of("codec-snappy");
        try (RawConnection coordinator = coordinator(joined)) {
            Member member = join(coordinator, joined, source);
            commit(coordinator, joined, member, source);
            await(joined, GroupState.STABLE);
        }
        String empty = names.of("streams-empty");
        try (RawConnection coordinator = coordinator(empty)) {
            Member member = join(coordinator, empty, source);
            beat(coordinator, new StreamsGroupHeartbeatRequestData().setGroupId(empty).setMemberId(member.id).setMemberEpoch(LEAVE));
        }
        await(empty, GroupState.EMPTY);
        seed.admin.alterStreamsGroupOffsets(empty, Map.of(new TopicPartition(source, 1), new OffsetAndMetadata(4, "left"))).all().get();
    }

    private record Member(String id, int epoch) {
    }

    /** Heartbeats until tasks are assigned, and then acknowledges them. */
    private Member join(RawConnection coordinator, String group, String source) throws Exception {
        String id = Uuid.randomUuid().toString();
        StreamsGroupHeartbeatRequestData.TopicInfo changelog = new StreamsGroupHeartbeatRequestData.TopicInfo()
            .setName(group + "-store-changelog").setPartitions(0).setReplicationFactor((short) 1);
        StreamsGroupHeartbeatRequestData.Subtopology subtopology = new StreamsGroupHeartbeatRequestData.Subtopology()
            .setSubtopologyId("0").setSourceTopics(List.of(source)).setStateChangelogTopics(List.of(changelog));
        StreamsGroupHeartbeatRequestData first = new StreamsGroupHeartbeatRequestData().setGroupId(group).setMemberId(id)
            .setMemberEpoch(0).setRebalanceTimeoutMs(300_000).setProcessId("process-" + group).setClientTags(List.of())
            .setActiveTasks(List.of()).setStandbyTasks(List.of()).setWarmupTasks(List.of())
            .setTopology(new StreamsGroupHeartbeatRequestData.Topology().setEpoch(1).setSubtopologies(List.of(subtopology)));
        StreamsGroupHeartbeatResponseData[] last = {beat(coordinator, first)};
        Seed.until("tasks for " + group, () -> {
            if (last[0].activeTasks() != null && !last[0].activeTasks().isEmpty()) {
                return true;
            }
            last[0] = beat(coordinator, keepAlive(group, id, last[0].memberEpoch()));
            return false;
        });
        List<StreamsGroupHeartbeatRequestData.TaskIds> tasks = last[0].activeTasks().stream()
            .map(task -> new StreamsGroupHeartbeatRequestData.TaskIds().setSubtopologyId(task.subtopologyId()).setPartitions(task.partitions()))
            .toList();
        StreamsGroupHeartbeatRequestData owned = keepAlive(group, id, last[0].memberEpoch())
            .setActiveTasks(tasks).setStandbyTasks(List.of()).setWarmupTasks(List.of());
        return new Member(id, beat(coordinator, owned).memberEpoch());
    }

    private static StreamsGroupHeartbeatRequestData keepAlive(String group, String member, int epoch) {
        return new StreamsGroupHeartbeatRequestData().setGroupId(group).setMemberId(member).setMemberEpoch(epoch);
    }

    /** Sends again while the coordinator that was found is still taking up its work. */
    private static StreamsGroupHeartbeatResponseData beat(RawConnection coordinator, StreamsGroupHeartbeatRequestData data) throws Exception {
        StreamsGroupHeartbeatResponseData[] answer = new StreamsGroupHeartbeatResponseData[1];
        Seed.until("a coordinator for " + data.groupId(), () -> {
            answer[0] = (StreamsGroupHeartbeatResponseData) coordinator.send(new StreamsGroupHeartbeatRequest(data, (short) 0)).data();
            return !NOT_YET.contains(Errors.forCode(answer[0].errorCode()));
        });
        if (answer[0].errorCode() != 0) {
            throw Errors.forCode(answer[0].errorCode()).exception("streams heartbeat: " + answer[0].errorMessage());
        }
        return answer[0];
    }

    private static void commit(RawConnection coordinator, String group, Member member, String topic) throws Exception {
        OffsetCommitRequestData.OffsetCommitRequestPartition partition = new OffsetCommitRequestData.OffsetCommitRequestPartition()
            .setPartitionIndex(0).setCommittedOffset(6).setCommittedMetadata("still here");
        OffsetCommitRequestData data = new OffsetCommitRequestData().setGroupId(group).setMemberId(member.id).setGenerationIdOrMemberEpoch(member.epoch)
            .setTopics(List.of(new OffsetCommitRequestData.OffsetCommitRequestTopic().setName(topic).setPartitions(List.of(partition))));
        coordinator.send(OffsetCommitRequest.Builder.forTopicNames(data).build(OFFSET_COMMIT_BY_NAME)).errorCounts().forEach((error, count) -> {
            if (error != Errors.NONE) {
                throw error.exception("offset commit of a streams member");
            }
        });
    }

    private void await(String group, GroupState state) throws Exception {
        Seed.until(group + " " + state, () ->
            seed.admin.describeStreamsGroups(List.of(group)).all().get().get(group).groupState() == state);
    }

    private RawConnection coordinator(String group) throws Exception {
        String[] server = seed.bootstrap.split(",")[0].split(":");
        FindCoordinatorRequestData data = new FindCoordinatorRequestData().setKeyType((byte) 0).setCoordinatorKeys(List.of(group));
        FindCoordinatorResponseData.Coordinator[] found = new FindCoordinatorResponseData.Coordinator[1];
        Seed.until("coordinator of " + group, () -> {
            try (RawConnection any = new RawConnection(server[0], Integer.parseInt(server[1]))) {
                FindCoordinatorRequest request = new FindCoordinatorRequest.Builder(data).build((short) 4);
                found[0] = ((FindCoordinatorResponseData) any.send(request).data()).coordinators().get(0);
                return found[0].errorCode() == 0;
            }
        });
        return new RawConnection(found[0].host(), found[0].port());
    }
}
