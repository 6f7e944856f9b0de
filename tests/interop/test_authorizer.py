"""Our authorizer decides random questions as the StandardAuthorizer of real Kafka releases does."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from immutables import Map
from kafka_java import run_program

from falkirk.metadata.acls.acl_types import WILDCARD, AclOperation, AclPermissionType, PatternType, ResourceType
from falkirk.metadata.acls.authorizer import Authorizer
from falkirk.metadata.image.acls import Acl, AclsImage
from falkirk.metadata.requests.request_context import Principal, RequestContext
from falkirk.versions.release import Release

pytestmark = pytest.mark.interop
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
QUICK = "4.3.1"
CASES, QUESTIONS_OF_EACH = 500, 20
# Short and alike, so that patterns meet resources and each other.
NAMES = ("a", "ab", "abc", "b", "ba", "*", "*a", "A", "a.b", "a\u00e9", "kafka-cluster", "hardcode", "h")
PRINCIPALS = ("User:alice", "User:alice", "User:bob", "User:*", "Group:alice", "Group:*", "User:CN=a,O=b", "User:Alice")
HOSTS = (
    "*",
    "*",
    "*",
    "10.0.0.1",
    "10.0.0.2",
    "10.0.0.0/30",
    "10.0.0.0/33",
    "fd00::1",
    "fd00:0:0:0:0:0:0:1",
    "fd00::/8",
)
CLIENTS = ("10.0.0.1", "10.0.0.2", "10.0.0.9", "fd00::1")
SUPER_USERS = ("", "", "User:bob", "User:carol; User:alice ;", "Group:alice;User:CN=a,O=b", "user:alice")
TYPES = [kind for kind in ResourceType if kind > ResourceType.ANY]
# Those that every release knows.
OPERATIONS = [each for each in AclOperation if AclOperation.ANY < each < AclOperation.TWO_PHASE_COMMIT]


@dataclass(frozen=True)
class Question:
    """Whether a client may do something, where and on what."""

    principal: str
    host: str
    operation: int
    resource_type: int
    resource_name: str


@dataclass(frozen=True)
class Case:
    """An authorizer's settings and ACLs, and questions to it."""

    super_users: str
    allow_everyone: bool
    acls: list[Acl]
    questions: list[Question]

    def lines(self) -> list[str]:
        """Return the case in the form of tests/data/acls/README.md."""
        rows: list[tuple[object, ...]] = [("case", self.super_users, str(self.allow_everyone).lower())]
        rows += [("acl", *(getattr(acl, name) for name in acl.__struct_fields__)) for acl in self.acls]
        rows += [
            ("ask", each.principal, each.host, each.operation, each.resource_type, each.resource_name)
            for each in self.questions
        ]
        return ["\t".join(map(str, row)) for row in rows]

    def decisions(self, *, knows_ranges: bool) -> list[str]:
        """Return what our authorizer decides, as java/Authorize.java writes it."""
        authorizer = Authorizer.of(
            AclsImage(Map({number.to_bytes(16, "big"): acl for number, acl in enumerate(self.acls)})),
            super_users=self.super_users,
            allow_everyone=self.allow_everyone,
            knows_ranges=knows_ranges,
        )
        return [_decision(authorizer, each) for each in self.questions]


def _decision(authorizer: Authorizer, asked: Question) -> str:
    context = RequestContext(
        api_key=0, api_version=0, principal=Principal.parse(asked.principal), client_host=asked.host
    )
    on_one = authorizer.is_allowed(context, asked.operation, asked.resource_type, asked.resource_name)
    on_any = authorizer.is_allowed_on_any(context, asked.operation, asked.resource_type)
    return "".join("A" if allowed else "D" for allowed in (on_one, on_any))


def _is_skipped_by_kafka(question: Question, acls: list[Acl]) -> bool:
    """Return whether an ACL for all names would apply to a name that begins with a star (compatibility.md)."""
    return question.resource_name.startswith(WILDCARD) and any(
        acl.resource_type == question.resource_type
        and acl.resource_name == WILDCARD
        and acl.pattern_type == PatternType.LITERAL
        for acl in acls
    )


def cases_of(seed: int) -> list[Case]:
    """Return random cases; few resource types and operations in each, so that ACLs and questions meet."""
    random = Random(seed)
    return [_case(random) for _ in range(CASES)]


def _case(random: Random) -> Case:
    types = random.sample(TYPES, 2)
    operations = [AclOperation.ALL, *random.sample(OPERATIONS, 3), AclOperation.DESCRIBE, AclOperation.READ]
    names = random.sample(NAMES, 6)
    acls = [
        Acl(
            random.choice(types),
            random.choice(names),
            random.choice((PatternType.LITERAL, PatternType.PREFIXED)),
            random.choice(PRINCIPALS),
            random.choice(HOSTS),
            random.choice(operations),
            random.choice((AclPermissionType.ALLOW, AclPermissionType.ALLOW, AclPermissionType.DENY)),
        )
        for _ in range(random.choice((0, 1, 2, 3, 5, 8, 13)))
    ]
    questions = [
        Question(
            random.choice(PRINCIPALS[:3] + PRINCIPALS[4:]),
            random.choice(CLIENTS),
            random.choice([operation for operation in operations if operation != AclOperation.ALL]),
            random.choice(types),
            random.choice(names),
        )
        for _ in range(QUESTIONS_OF_EACH)
    ]
    # Kafka's authorizer fails on an ACL that it has already.
    return Case(random.choice(SUPER_USERS), random.random() < 0.3, list(dict.fromkeys(acls)), questions)


@pytest.mark.parametrize(
    ("release", "seed"),
    [
        pytest.param(release, seed, marks=[] if (release, seed) == (QUICK, 1) else [pytest.mark.full])
        for release in RELEASES
        for seed in (1, 2, 3)
    ],
)
def test_ten_thousand_random_questions_are_decided_as_kafka_decides_them(
    release: str, seed: int, tmp_path: Path
) -> None:
    cases = cases_of(seed)
    asked = tmp_path / "questions.tsv"
    asked.write_text("".join(f"{line}\n" for case in cases for line in case.lines()), "utf-8")
    real = run_program("Authorize", [str(asked)], release=release).split()
    knows_ranges = any(version.cidr_acl_supported for version in Release.parse(release).kraft.metadata_versions)
    ours = [decision for case in cases for decision in case.decisions(knows_ranges=knows_ranges)]
    assert len(real) == len(ours) == 10_000
    questions = [(case, question) for case in cases for question in case.questions]
    different = [
        (theirs, own, question, case.acls)
        for (case, question), theirs, own in zip(questions, real, ours, strict=True)
        if theirs != own
    ]
    unexpected = [each for each in different if not _is_skipped_by_kafka(each[2], each[3])]
    assert unexpected[:1] == [], f"{len(unexpected)} decisions differ"
    assert 0 < len(different) < 50, "docs/reference/compatibility.md says that they differ"
    # What is always answered alike compares nothing.
    assert min(real.count(decision) for decision in ("AA", "AD", "DA", "DD")) > 100
