"""Where everything is, and where it could be."""

import pytest

from falkirk.pipeline.transforms.levels import levels


@pytest.mark.slow
def test_levels_are_those_of_the_images(metadata_fleet):
    rows = {row.cluster: row for row in levels()(metadata_fleet.tables).collect()}
    assert rows.keys() == metadata_fleet.clusters.keys()
    for name, cluster in metadata_fleet.clusters.items():
        wanted = cluster.image.features.levels(kraft_version=cluster.kraft_version)
        row = rows[name]
        assert {"metadata.version": row.level, **row.features} == wanted
        assert row.metadata_version == str(cluster.image.features.metadata_version)
    assert rows["4.3.1"].releases == ["4.3", "4.4"]
    assert rows["3.7.2"].releases == ["3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]


@pytest.mark.slow
def test_a_cluster_without_a_level_is_run_by_no_release(tables_of):
    [row] = levels()(tables_of(clusters=[{"cluster_id": "x"}], feature_levels=[])).collect()
    assert (row.level, row.metadata_version, row.releases, row.features) == (None, None, [], {})
