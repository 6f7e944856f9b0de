"""What each release changed, one module per release, oldest first."""

from typing import Final

from falkirk.versions.notation import ReleaseChanges
from falkirk.versions.releases import (
    kafka_2_4_1,
    kafka_2_5_1,
    kafka_2_6_3,
    kafka_2_7_2,
    kafka_2_8_2,
    kafka_3_0_2,
    kafka_3_1_2,
    kafka_3_2_3,
    kafka_3_3_2,
    kafka_3_4_1,
    kafka_3_5_2,
    kafka_3_6_2,
    kafka_3_7_2,
    kafka_3_8_1,
    kafka_3_9_1,
    kafka_4_0_0,
    kafka_4_1_1,
    kafka_4_2_1,
    kafka_4_3_1,
    kafka_4_4_0,
)

RELEASE_CHANGES: Final[tuple[ReleaseChanges, ...]] = (
    kafka_2_4_1.CHANGES,
    kafka_2_5_1.CHANGES,
    kafka_2_6_3.CHANGES,
    kafka_2_7_2.CHANGES,
    kafka_2_8_2.CHANGES,
    kafka_3_0_2.CHANGES,
    kafka_3_1_2.CHANGES,
    kafka_3_2_3.CHANGES,
    kafka_3_3_2.CHANGES,
    kafka_3_4_1.CHANGES,
    kafka_3_5_2.CHANGES,
    kafka_3_6_2.CHANGES,
    kafka_3_7_2.CHANGES,
    kafka_3_8_1.CHANGES,
    kafka_3_9_1.CHANGES,
    kafka_4_0_0.CHANGES,
    kafka_4_1_1.CHANGES,
    kafka_4_2_1.CHANGES,
    kafka_4_3_1.CHANGES,
    kafka_4_4_0.CHANGES,
)
