"""The type of a feature update: an upgrade, a lossless downgrade, or a downgrade in any case. Source: KIP-778."""

import enum


class UpgradeType(enum.IntEnum):
    """The field UpgradeType of UpdateFeatures, from version 1 on; other numbers mean nothing.

    KIP-778 calls it downgrade_type, and its values NONE, SAFE and UNSAFE.
    """

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3
