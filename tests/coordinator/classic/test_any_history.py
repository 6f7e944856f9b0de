"""Whatever clients ask, in any order, and whoever takes over at any time: a classic group keeps its promises."""

from collections.abc import Mapping

import pytest
from classic_world import GROUP, SESSION_MS, ClassicWorld
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from falkirk.coordinator.classic.classic_records import group_metadata_record
from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import GroupMetadataValue, JoinGroupResponse

PROTOCOLS = ({"range": b"r"}, {"range": b"r", "sticky": b"s"}, {"sticky": b"s", "range": b"R"})
INSTANCES = st.sampled_from([None, None, "i0", "i1"])
PICKS = st.integers(0, 1_000)


class ClassicGroupHistory(RuleBasedStateMachine):
    """Clients that know every id that was ever given out, and use them without manners."""

    def __init__(self) -> None:
        super().__init__()
        self.world = ClassicWorld(group_max_size=4)
        self.ids: list[tuple[str, str | None]] = []
        self.generation = 0

    @initialize(count=st.integers(0, 3), static=st.booleans())
    def begin_with_members(self, count: int, *, static: bool) -> None:
        if count:
            self.world.stable(count, static=static)

    @precondition(lambda self: self.group is not None and self.group.members)
    @rule()
    def rebalance_as_clients_do(self) -> None:
        assert self.group is not None
        for member in list(self.group.members.values()):
            protocols = {each.name: each.metadata for each in member.protocols}
            self.world.join(member.member_id, instance=member.group_instance_id, protocols=protocols)
        self.world.pass_time(6_000)
        leader_id = self.group.leader_id
        members = sorted(self.group.members.values(), key=lambda each: each.member_id != leader_id)
        assignments = {each.member_id: b"%d" % self.group.generation_id for each in members}
        for member in members:
            self.world.sync(
                member.member_id,
                self.group.generation_id,
                assignments,
                instance=member.group_instance_id,
                protocol_name=self.group.protocol_name,
            )

    @rule(version=st.integers(0, 9), instance=INSTANCES, protocols=st.sampled_from(PROTOCOLS))
    def join_anew(self, version: int, instance: str | None, protocols: Mapping[str, bytes]) -> None:
        instance = instance if version >= 5 else None
        token = self.world.join(version=version, instance=instance, protocols=dict(protocols))
        answer = self.world.answers.get(token)
        if isinstance(answer, JoinGroupResponse) and answer.member_id:
            self.ids.append((answer.member_id, instance))

    @rule(pick=PICKS, version=st.integers(5, 9), protocols=st.sampled_from(PROTOCOLS))
    def join_again(self, pick: int, version: int, protocols: Mapping[str, bytes]) -> None:
        member_id, instance = self.pick(pick)
        self.world.join(member_id, version=version, instance=instance, protocols=dict(protocols))

    @rule(pick=PICKS, stale=st.booleans())
    def sync(self, pick: int, *, stale: bool) -> None:
        member_id, instance = self.pick(pick)
        group = self.group
        if group is not None:
            assignments = dict.fromkeys(group.members, b"%d" % group.generation_id)
            generation = group.generation_id - stale
            self.world.sync(member_id, generation, assignments, instance=instance, protocol_name=group.protocol_name)

    @rule(pick=PICKS)
    def heartbeat(self, pick: int) -> None:
        member_id, instance = self.pick(pick)
        self.world.heartbeat(member_id, self.generation, instance=instance)

    @rule(picks=st.lists(PICKS, min_size=1, max_size=3), by_instance=st.booleans())
    def leave(self, picks: list[int], *, by_instance: bool) -> None:
        leaving = [self.pick(pick) for pick in picks]
        self.world.leave(
            *(("", instance) if by_instance and instance else (each, instance) for each, instance in leaving)
        )

    @rule(ms=st.sampled_from([1, 1_000, 3_000, SESSION_MS - 1, SESSION_MS, 60_000, 300_000]))
    def pass_time(self, ms: int) -> None:
        self.world.pass_time(ms)

    @rule()
    def let_the_log_refuse(self) -> None:
        self.world.refusal = ErrorCode.COORDINATOR_NOT_AVAILABLE

    @precondition(lambda self: self.world.refusal)
    @rule()
    def let_the_log_take_records_again(self) -> None:
        self.world.refusal = None

    @precondition(lambda self: self.world.log)
    @rule(size_max=st.sampled_from([2, 4]))
    def take_over(self, size_max: int) -> None:
        self.world.reload(group_max_size=1_000)
        assert self.group is not None
        assert group_metadata_record(self.group).value == self.world.written[-1]
        self.generation = self.group.generation_id
        self.world.reload(group_max_size=size_max)

    @invariant()
    def no_instance_id_is_of_two_members(self) -> None:
        if self.group is not None:
            members = [each for each in self.group.members.values() if each.group_instance_id is not None]
            assert self.group.static_members == {each.group_instance_id: each.member_id for each in members}
            assert len(self.group.static_members) == len(members)

    @invariant()
    def generations_do_not_fall(self) -> None:
        generation = 0 if self.group is None else self.group.generation_id
        assert generation >= self.generation
        self.generation = generation
        written = [value.generation for value in self.world.written if value is not None]
        assert written == sorted(written)

    @invariant()
    def who_waits_is_not_forgotten(self) -> None:
        members = [] if self.group is None else list(self.group.members.values())
        joins = [each.waiting_join.token for each in members if each.waiting_join is not None]
        syncs = [each.waiting_sync.token for each in members if each.waiting_sync is not None]
        assert self.world.open_tokens == {*joins, *syncs}
        assert self.group is None or self.group.waiting_joins == len(joins)

    @invariant()
    def a_stable_group_is_what_was_last_written(self) -> None:
        if self.group is not None and self.group.state_name == "Stable":
            assert _gist(group_metadata_record(self.group).value) == _gist(self.world.written[-1])

    def teardown(self) -> None:
        """Nothing waits for ever: without a sign of life all members are taken out."""
        self.world.refusal = None
        self.world.pass_time(3_600_000)
        assert self.group is None or self.group.is_empty
        assert not self.world.open_tokens
        assert self.world.context.timers.next_due_ms is None

    @property
    def group(self) -> ClassicGroup | None:
        """The group, if it is there."""
        found = self.world.context.groups.get(GROUP)
        assert found is None or isinstance(found, ClassicGroup)
        return found

    def pick(self, number: int) -> tuple[str, str | None]:
        """Return a member of the group, with its instance id, or an id that was given out."""
        group = self.group
        members = [] if group is None else [(each.member_id, each.group_instance_id) for each in group.members.values()]
        known = [*members, *members, *self.ids[-4:], ("someone", None)]
        return known[number % len(known)]


def _gist(value: object) -> object:
    assert isinstance(value, GroupMetadataValue)
    members = {each.member_id: each for each in value.members}
    return value.protocol_type, value.protocol, value.generation, value.leader, members


@pytest.mark.slow
def test_a_classic_group_keeps_its_promises_through_any_history():
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        ClassicGroupHistory, settings=settings(max_examples=30, stateful_step_count=40, deadline=None)
    )
