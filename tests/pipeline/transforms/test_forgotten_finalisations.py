"""Features that all nodes could run higher than they are."""

import pytest

from falkirk.pipeline.transforms.forgotten_finalisations import forgotten_finalisations


def supports(**ranges):
    return [
        {"name": f"{name}.version", "min_supported_version": lowest, "max_supported_version": highest}
        for name, (lowest, highest) in ranges.items()
    ]


@pytest.mark.slow
def test_the_highest_level_of_all_nodes_is_told_where_it_is_above_the_finalized_one(tables_of):
    tables = tables_of(
        brokers=[
            {"broker_id": 1, "features": supports(metadata=(7, 30), group=(0, 1), share=(0, 2), kraft=(0, 1))},
            {"broker_id": 2, "features": supports(metadata=(7, 33), group=(0, 1), share=(0, 1), kraft=(0, 1))},
            {"cluster": "no agreement", "broker_id": 1, "features": supports(metadata=(1, 6))},
            {"cluster": "no agreement", "broker_id": 2, "features": supports(metadata=(7, 33))},
            {"cluster": "as high as can be", "broker_id": 1, "features": supports(metadata=(7, 25))},
        ],
        # A controller that does not know a feature holds it back for all.
        controllers=[{"controller_id": 9, "features": supports(metadata=(7, 29), share=(0, 1), kraft=(0, 1))}],
        feature_levels=[
            {"feature": "metadata.version", "from_level": 0, "to_level": 25, "is_current": True},
            {"feature": "share.version", "from_level": 1, "to_level": 0, "is_current": True},
            {"cluster": "as high as can be", "feature": "metadata.version", "to_level": 25, "is_current": True},
        ],
    )
    rows = forgotten_finalisations()(tables).collect()
    assert {tuple(row) for row in rows} == {("c", "metadata.version", 25, 29), ("c", "share.version", 0, 1)}
