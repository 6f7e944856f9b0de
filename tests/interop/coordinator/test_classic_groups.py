"""Classic groups: the same members send the same requests to our coordinator and Kafka's."""

from collections import defaultdict
from random import Random

import pytest
from classic_world import GROUP, ClassicWorld
from kafka_java import run_program

from falkirk.coordinator.classic.description import describe
from falkirk.protocol import codec, messages
from falkirk.protocol.coordinator_record import decode_value
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.messages import GROUP_COORDINATOR_VALUES, DescribeGroupsResponse, JoinGroupResponse

pytestmark = pytest.mark.interop

HISTORIES = 150
STEPS = 40
PROTOCOLS = ({"range": b"r"}, {"range": b"r", "sticky": b"s"}, {"sticky": b"s", "range": b"R"})
# What ours tells those whom Kafka leaves to their request timeout.
TOLD_BY_OURS_ALONE = {ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID}


class OrderedIds:
    """Member ids whose order in Java's hash maps is the order in which they were made, for up to 15 of them."""

    def __init__(self, random: Random) -> None:
        self.prefix = ""
        self.made: list[bytes] = []
        self._random = random

    def randbytes(self, n: int) -> bytes:
        """Return the bytes of the next id, which begins with `prefix`."""
        bucket = len(self.made) + 1
        while True:
            made = bytearray(self._random.randbytes(n))
            made[6] = made[6] & 0x0F | 0x40
            made[8] = made[8] & 0x3F | 0x80
            text = made.hex()
            code = java_string_hash(f"{self.prefix}-{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")
            code &= 0xFFFFFFFF
            # No text of it begins with a dash: ours would ask for another.
            if (code ^ code >> 16) & 15 == bucket and made[0] < 0xF8:
                self.made.append(bytes(made))
                return bytes(made)


class History:
    """One generated history: `lines` for Kafka, and the result of each with ours."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.ids = OrderedIds(self.random)
        self.world = ClassicWorld(random=self.ids, group_max_size=self.random.choice((3, 100)))  # type: ignore[arg-type]
        self.size_max = self.world.settings.group_max_size
        self.known: list[tuple[str, str | None]] = [("someone", None)]
        self.lines: list[str] = []
        self.ours: list[tuple[dict[int, object], list[object], object]] = []
        self._begin()

    def make(self) -> None:
        """Generate its steps."""
        actions = (
            self._join_anew,
            self._join_anew,
            self._join_again,
            self._rebalance,
            self._rebalance,
            self._sync,
            self._heartbeat,
            self._leave,
            self._pass_time,
            self._pass_time,
            self._refuse,
            self._take_over,
        )
        for _ in range(STEPS):
            if len(self.ids.made) >= 14:
                break
            self.random.choice(actions)()

    # --- steps

    def _join_anew(self) -> None:
        version = self.random.randrange(10)
        instance = self.random.choice((None, "i0", "i1")) if version >= 5 else None
        group = self.world.context.groups.get(GROUP)
        if self.world.refusal is not None and (group is None or instance is not None):
            # Of a group that cannot be made Kafka gives out ids; an id that is taken back comes behind newer ones.
            self._refuse_from_now_on(None)
        self.ids.prefix = instance or "c"
        protocols = dict(self.random.choice(PROTOCOLS))
        timeouts = self._timeouts()
        type_ = self.random.choice(("consumer",) * 9 + ("connect",))
        token = self._do(
            lambda: self.world.join(
                version=version, instance=instance, protocols=protocols, protocol_type=type_, **timeouts
            )
        )
        answer = self.world.answers.get(token)
        if not isinstance(answer, JoinGroupResponse) or not answer.member_id:
            return
        if answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
            self.known.append((answer.member_id, instance))
        elif self.random.random() < 0.8:
            # At once or never: members are in the order in which their ids were made.
            self._do(
                lambda: self.world.join(
                    answer.member_id, version=version, protocols=protocols, protocol_type=type_, **timeouts
                )
            )
        elif self.random.random() < 0.5:
            self._do(lambda: self.world.leave(answer.member_id, version=version % 6))

    def _join_again(self) -> None:
        member_id, instance = self._member()
        version = self.random.randrange(5, 10)
        protocols = dict(self.random.choice(PROTOCOLS))
        timeouts = self._timeouts()
        self._do(
            lambda: self.world.join(member_id, version=version, instance=instance, protocols=protocols, **timeouts)
        )

    def _rebalance(self) -> None:
        for member in list(self._members()):
            protocols = {each.name: each.metadata for each in member.protocols}
            self._do(
                lambda member=member, protocols=protocols: self.world.join(
                    member.member_id,
                    instance=member.group_instance_id,
                    protocols=protocols,
                    protocol_type=self.world.group().protocol_type,
                )
            )
        self._do(lambda: self.world.pass_time(6_000), "T 6000")
        for member in list(self._members()):
            self._sync_as(member.member_id, member.group_instance_id)

    def _sync(self) -> None:
        self._sync_as(*self._member())

    def _sync_as(self, member_id: str, instance: str | None) -> None:
        group = self._group()
        generation = 0 if group is None else group.generation_id
        version = self.random.randrange(3, 6)
        assignments = {each.member_id: each.member_id.encode() for each in self._members()}
        name, type_ = (None, "consumer") if group is None else (group.protocol_name, group.protocol_type)
        self._do(
            lambda: self.world.sync(
                member_id,
                generation,
                assignments,
                version=version,
                instance=instance,
                protocol_name=name or "range",
                protocol_type=type_,
            )
        )

    def _heartbeat(self) -> None:
        member_id, instance = self._member()
        group = self._group()
        generation = 0 if group is None else group.generation_id - self.random.randrange(2)
        self._do(
            lambda: self.world.heartbeat(member_id, generation, version=self.random.randrange(3, 5), instance=instance)
        )

    def _leave(self) -> None:
        leaving = [self._member() for _ in range(self.random.randrange(1, 3))]
        by_instance = [
            ("", instance) if instance and self.random.random() < 0.5 else (each, instance)
            for each, instance in leaving
        ]
        version = self.random.randrange(6)
        self._do(lambda: self.world.leave(*by_instance, version=version))

    def _pass_time(self) -> None:
        ms = self.random.choice((1, 1_000, 3_000, 9_999, 10_000, 60_000))
        self._do(lambda: self.world.pass_time(ms), f"T {ms}")

    def _refuse(self) -> None:
        is_refusing = self.world.refusal is None and self.random.random() < 0.5
        self._refuse_from_now_on(ErrorCode.COORDINATOR_NOT_AVAILABLE if is_refusing else None)

    def _refuse_from_now_on(self, error: ErrorCode | None) -> None:
        self.world.refusal = error
        self._do(lambda: None, f"X {str(error is not None).lower()}")

    def _take_over(self) -> None:
        if self.world.log and self.random.random() < 0.5:
            self.world.refusal = None
            self.world.reload()
            self._begin()

    # --- inside

    def _timeouts(self) -> dict[str, int]:
        return {
            "session_ms": self.random.choice((6_000, 10_000, 30_000)),
            "rebalance_ms": self.random.choice((2_000, 5_000, 20_000, 60_000)),
        }

    def _begin(self) -> None:
        """Let Kafka's shard load the same log."""
        self.lines.append(f"N {self.world.context.now_ms} {self.size_max}")
        self.lines += [f"R {key.hex()} {'-' if value is None else value.hex()}" for key, value in self.world.log]
        self.lines.append("I")
        self.ours += [({}, [], None)] * (len(self.world.log) + 1)
        self.ours.append(({}, [], self._described()))

    def _do(self, action, line: str | None = None):
        answered, written, requested = set(self.world.answers), len(self.world.log), len(self.world.requests)
        made = len(self.ids.made)
        result = action()
        for each in self.ids.made[made:]:
            self.lines.append(f"U {each.hex()}")
            self.ours.append(({}, [], None))
        for name, version, token, data in self.world.requests[requested:]:
            line = f"Q {name} {version} {token} {data.hex()}"
        if line is not None:
            self.lines.append(line)
            answers = {token: self.world.answers[token] for token in self.world.answers.keys() - answered}
            self.ours.append((answers, self.world.written[written:], self._described()))
        return result

    def _group(self):
        return self.world.group() if GROUP in self.world.context.groups else None

    def _members(self):
        group = self._group()
        return () if group is None else group.members.values()

    def _member(self) -> tuple[str, str | None]:
        members = [(each.member_id, each.group_instance_id) for each in self._members()]
        return self.random.choice([*members, *members, *members, *self.known[-3:], self.known[0]])

    def _described(self) -> object:
        response = DescribeGroupsResponse(groups=[describe(GROUP, self.world.context.groups.get(GROUP), 5)])
        return _sorted(codec.decode(DescribeGroupsResponse, 5, codec.encode(response, 5)))


def test_kafkas_coordinator_answers_and_writes_as_ours_does(tmp_path):
    histories = [History(seed) for seed in range(HISTORIES)]
    for history in histories:
        history.make()
    path = tmp_path / "histories"
    path.write_text("".join(f"{line}\n" for history in histories for line in history.lines))

    said = iter(run_program("ClassicGroups", [str(path)]).splitlines())

    states = defaultdict(int)
    for seed, history in enumerate(histories):
        versions = {token: (name, version) for name, version, token, _ in history.world.requests}
        for number, (line, (answers, written, described)) in enumerate(zip(history.lines, history.ours, strict=True)):
            kafkas = _read_step(said, versions)
            where = f"seed {seed}, line {number}: {line}"
            alone = {token: answer for token, answer in answers.items() if token not in kafkas[0]}
            assert {ErrorCode(answer.error_code) for answer in alone.values()} <= TOLD_BY_OURS_ALONE, (where, alone)
            reported = {token: _sorted(answers[token]) for token in answers.keys() & kafkas[0].keys()}
            assert reported == kafkas[0], where
            assert [_sorted(each) for each in written] == kafkas[1], where
            if described is not None:
                assert described == kafkas[2], where
                states[described.groups[0].group_state] += 1
    assert states.keys() == {"Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}


def _read_step(said, versions):
    """Return Kafka's responses, records and group description for one line."""
    answers, written = {}, []
    while True:
        word, *rest = next(said).split(" ")
        if word == "D":
            return answers, written, _sorted(codec.decode(DescribeGroupsResponse, 5, bytes.fromhex(rest[0])))
        if word == "W":
            value = rest[0]
            written.append(
                None if value == "-" else _sorted(decode_value(GROUP_COORDINATOR_VALUES, 2, bytes.fromhex(value))[0])
            )
        else:
            name, version = versions[int(rest[0])]
            answers[int(rest[0])] = _sorted(
                codec.decode(getattr(messages, f"{name}Response"), version, bytes.fromhex(rest[1]))
            )


def _sorted(message):
    """Sort members: Kafka's order is that of a hash map. Members that leave are answered in their own."""
    if message is None:
        return None
    for each in [message, *getattr(message, "groups", ())]:
        if hasattr(each, "members") and not type(each).__name__.startswith("LeaveGroup"):
            each.members.sort(key=lambda member: member.member_id)
    return message
