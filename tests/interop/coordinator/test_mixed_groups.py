"""Groups of both protocols and their conversions: the same requests to our coordinator and Kafka's.

Both use the range assignor only, whose result does not depend on the order of a hash map.
"""

from random import Random

import pytest
from consumer_world import Consumer
from kafka_java import run_program
from mixed_world import GROUP, ClassicConsumer, MixedWorld

from falkirk.coordinator.classic.group import ClassicGroup
from falkirk.coordinator.conversion.migration_policy import MigrationPolicy
from falkirk.protocol import codec, messages
from falkirk.protocol.coordinator_record import encode_key, encode_value

pytestmark = pytest.mark.interop


class RecordingWorld(MixedWorld):
    """Records the requests for Kafka in `lines`; `steps` has the tokens that ours had answered after each of them."""

    def __init__(self, seed=1, **given):
        self.lines = []
        self.steps = []
        self.versions = {}
        super().__init__(consumer_assignors=("range",), **given)
        self._random = self.context.random = _RecordedChance(self, seed)
        self.take_over()

    def take_over(self):
        """Let both coordinators load the log."""
        self.reload()
        configs = {
            "group.consumer.migration.policy": self.settings.consumer_migration_policy,
            "group.consumer.assignors": "range",
            "group.consumer.assignment.interval.ms": self.settings.consumer_assignment_interval_ms,
        }
        reported = " ".join(f"{key}={value}" for key, value in configs.items())
        self.note(f"N {self.context.now_ms} {self.settings.group_max_size} {reported}")
        for name in self.topics.names():
            self.note(f"M {name} {self.id(name).hex()} {self.topics.partitions_of(name)}")
        for record in (record for batch in self.batches for record in batch):
            value = "-" if record.value is None else encode_value(record.value, record.version).hex()
            self.note(f"R {encode_key(record.key).hex()} {value}")
        self.note("I")

    def note(self, line):
        self.lines.append(line)
        self.steps.append(set(self.answers))

    def ask(self, method, request, version, **given):
        token = super().ask(method, request, version, **given)
        self._note(request, version, token)
        return token

    def beat(self, member_id, epoch, **requested):
        self._tokens += 1
        token = self._tokens
        protocol = self.protocol
        self.protocol = _Noted(protocol)
        self.answers[token] = response = super().beat(member_id, epoch, **requested)
        self._note(self.protocol.request, 1, token)
        self.protocol = protocol
        return response

    def pass_time(self, ms):
        super().pass_time(ms)
        self.note(f"T {ms}")

    def _note(self, request, version, token):
        name = type(request).__name__.removesuffix("Request")
        self.versions[token] = name, version
        self.note(f"Q {name} {version} {token} {codec.encode(request, version).hex()}")


class _RecordedChance(Random):
    """Ids that Kafka is told; with the seeds below its hash maps iterate in order of arrival."""

    def __init__(self, world, seed):
        super().__init__(seed)
        self._world = world

    def randbytes(self, n):
        made = bytearray(super().randbytes(n))
        made[0] &= 0x7F
        made[6] = made[6] & 0x0F | 0x40
        made[8] = made[8] & 0x3F | 0x80
        self._world.note(f"U {made.hex()}")
        return bytes(made)


class _Noted:
    def __init__(self, protocol):
        self._protocol = protocol

    def heartbeat(self, client, request, token, **given):
        self.request = request
        return self._protocol.heartbeat(client, request, token, **given)


def _rest(world, *consumers, rounds=5):
    for _ in range(rounds):
        for consumer in consumers:
            consumer.settle() if isinstance(consumer, ClassicConsumer) else consumer.beat()
        world.pass_time(3_000)


def _mixed(assignor, seed, **given):
    """Return a stable group with two members of the classic protocol and one of the new one."""
    world = RecordingWorld(seed, **given)
    classics = [ClassicConsumer(world, "foo", assignor=assignor) for _ in range(2)]
    _rest(world, *classics)
    assert world.classic_group.state_name == "Stable"
    new = Consumer(world, "new", "foo")
    _rest(world, *classics, new)
    assert world.group.state_name == "Stable"
    return world, classics, new


def _up_and_down(assignor, seed):
    world, classics, new = _mixed(assignor, seed)
    new.leave()
    _rest(world, *classics)
    assert isinstance(world.context.groups[GROUP], ClassicGroup)
    return world


def _churn(assignor, seed):
    """Members of both protocols come and go, wait for each other, and time out."""
    world, classics, new = _mixed(assignor, seed)
    third = ClassicConsumer(world, "foo", assignor=assignor)
    other = Consumer(world, "other", "foo")
    other.beat()
    third.settle()
    classics[0].settle()
    new.beat()
    classics[1].settle()
    # Who assigns anew comes first: there others are not told to join again before that is done.
    _rest(world, new, other, *classics, third)
    third.leave()
    _rest(world, new, other, *classics)
    # One is silent, and its session ends.
    _rest(world, new, other, classics[0])
    assert classics[1].member_id not in world.group.members
    classics[1].settle()
    _rest(world, new, other, *classics)
    world.take_over()
    _rest(world, new, other, *classics)
    return world


def _errors(policy):
    """Refused requests, in groups of either protocol."""
    world = RecordingWorld(consumer_migration_policy=policy)
    first = ClassicConsumer(world, "foo")
    _rest(world, first)
    world.join("new", "foo")
    world.beat("new", 1)
    if not policy.allows_upgrade:
        # A group that was made before the policy was; a new one begins at another epoch there.
        made = MixedWorld(consumer_assignors=("range",))
        Consumer(made, "new", "foo").beat()
        world.batches = made.batches
        world.take_over()
        late = ClassicConsumer(world, "foo")
        late.settle()
    for member_id, generation, instance in (
        ("x", 1, None),
        ("new", 2, None),
        ("x", 1, "i"),
        (first.member_id, 0, None),
    ):
        world.heartbeat(member_id, generation, instance=instance)
    for version in (2, 5):
        world.leave(("x", None), version=version)
    world.leave(("x", "i"), ("", "i"), ("x", None))
    ClassicConsumer(world, "foo", assignor="unknown-to-others").settle()
    static = ClassicConsumer(world, "foo", instance="i")
    static.settle()
    again = ClassicConsumer(world, "foo", instance="i")
    again.settle()
    static.settle()
    _rest(world, again, rounds=2)
    return world


def _begun(interval_ms, *topics):
    """A new group, as since 4.3: where it begins, and how long its members wait for an assignment."""
    world = RecordingWorld(new_consumer_group_epoch=1, consumer_assignment_interval_ms=interval_ms)
    first, second = Consumer(world, "first", *topics), Consumer(world, "second", "foo")
    first.beat()
    second.beat()
    for _ in range(8):
        world.pass_time(300)
        first.beat()
        second.beat()
    world.take_over()
    _rest(world, first, second)
    second.leave()
    _rest(world, first)
    return world


STORIES = {
    "new group": lambda: _begun(0, "foo"),
    "new group, whose first member reads nothing": lambda: _begun(0),
    "new group, assigned once a second": lambda: _begun(1_000, "foo"),
    "new group, assigned once a second, whose first member reads nothing": lambda: _begun(1_000),
    "up and down, eager": lambda: _up_and_down("range", 4),
    "up and down, cooperative": lambda: _up_and_down("cooperative-sticky", 4),
    "churn, eager": lambda: _churn("range", 4),
    "churn, cooperative": lambda: _churn("cooperative-sticky", 4),
    **{f"errors, {policy}": lambda policy=policy: _errors(policy) for policy in MigrationPolicy},
}


def test_kafkas_coordinator_answers_as_ours_does(tmp_path):
    worlds = {name: story() for name, story in STORIES.items()}
    path = tmp_path / "stories"
    path.write_text("".join(f"{line}\n" for world in worlds.values() for line in world.lines))

    said = iter(run_program("ClassicGroups", [str(path)]).splitlines())

    for name, world in worlds.items():
        before = set()
        for number, (line, answered) in enumerate(zip(world.lines, world.steps, strict=True)):
            kafkas = _read(said, world)
            ours = {token: _plain(world.answers[token]) for token in answered - before}
            assert ours == kafkas, (name, number, line)
            before = answered


def _read(said, world):
    answers = {}
    while True:
        word, *rest = next(said).split(" ")
        if word == "D":
            return answers
        if word == "A":
            name, version = world.versions[int(rest[0])]
            message = codec.decode(getattr(messages, f"{name}Response"), version, bytes.fromhex(rest[1]))
            answers[int(rest[0])] = _plain(message)


def _plain(message):
    """Without messages, and with members sorted."""
    if hasattr(message, "error_message"):
        message.error_message = None
    if type(message).__name__.startswith("JoinGroup"):
        message.members.sort(key=lambda member: member.member_id)
    return message
