import pytest

from falkirk.mirror.errors import MirrorError
from falkirk.mirror.mirrored_directory import MirroredDirectory

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"


def test_nothing_is_fetched_through_a_link_that_leads_out_of_the_directory(tmp_path):
    directory = MirroredDirectory(tmp_path, CLUSTER, 1).path
    (tmp_path / "outside").mkdir()
    (directory / "inside").symlink_to(directory / "meta.properties")
    MirroredDirectory(tmp_path, CLUSTER, 1)
    (directory / "orders-0").symlink_to(tmp_path / "outside")
    with pytest.raises(MirrorError, match=f"^{directory}/orders-0: a symbolic link to {tmp_path}/outside, outside"):
        MirroredDirectory(tmp_path, CLUSTER, 1)


@pytest.mark.parametrize("cluster_id", ["../evil", "..", "", "/evil"])
def test_a_cluster_id_that_is_no_file_name_is_refused(tmp_path, cluster_id):
    with pytest.raises(MirrorError, match="is no name of a directory"):
        MirroredDirectory(tmp_path / "live", cluster_id, 1)
    assert list(tmp_path.iterdir()) == []
