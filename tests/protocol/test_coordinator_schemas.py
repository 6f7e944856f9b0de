"""KIP-915's guidelines for coordinator records, held over every schema of every release.

New fields are tagged; a tag is never used again and its format never changes. Then a coordinator of an older release
can read what a newer one wrote. Kafka itself broke them where an early-access feature was still moving; each such
break is named here, and `versions.layouts` lets the right codec be chosen.
"""

import pytest

from falkirk.protocol import messages
from falkirk.protocol.schema import Field, StructSchema

# Records whose untagged fields changed within a version (KIP-848 before 3.9, share groups before 4.3).
BROKEN_BY_KAFKA = {
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ShareGroupMetadataValue",
    "ShareGroupPartitionMetadataValue",
    "ShareGroupStatePartitionMetadataValue",
    "ShareSnapshotValue",
    "ShareUpdateValue",
}
# The first flexible version; untagged fields of later versions break the rule.
TABLES = (messages.GROUP_COORDINATOR_VALUES, messages.TRANSACTION_COORDINATOR_VALUES, messages.SHARE_COORDINATOR_VALUES)
VALUES = sorted({name for table in TABLES for name in table.values()})


def structs(schema: StructSchema) -> list[StructSchema]:
    out = [schema]
    for field in schema.fields:
        if not isinstance(field.type, str):
            out += structs(field.type.SCHEMA)
    return out


def untagged_additions(name: str) -> list[Field]:
    """List untagged fields that some flexible version or layout lacks."""
    info = messages.message_class(name).SCHEMA.info
    flexible = [version for version in info.versions if version in info.flexible]
    return [
        field
        for schema in structs(messages.message_class(name).SCHEMA)
        for field in schema.fields
        if field.tag is None
        and not all(field.exists(version, layout) for version in flexible for layout in range(info.layouts))
        and any(field.exists(version, layout) for version in flexible for layout in range(info.layouts))
    ]


@pytest.mark.parametrize("name", VALUES)
def test_new_fields_are_tagged_unless_kafka_broke_the_rule_before_us(name):
    # ShareSnapshotValue and the like changed a type in place: the same name is twice, in different layouts.
    assert bool(untagged_additions(name)) == (name in BROKEN_BY_KAFKA)


@pytest.mark.parametrize("name", VALUES)
def test_a_tag_is_never_used_for_two_fields_and_never_changes_its_format(name):
    for schema in structs(messages.message_class(name).SCHEMA):
        tagged = [field for field in schema.fields if field.tag is not None]
        assert len({field.tag for field in tagged}) == len(tagged)
        assert all(field.layouts is None or field.layouts == tuple(range(field.layouts[0], field.layouts[-1] + 1))
                   for field in tagged)  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_values_of_the_last_version_are_flexible(name):
    info = messages.message_class(name).SCHEMA.info
    *_, last = info.versions
    assert last in info.flexible or name == "LegacyOffsetCommitValue"
