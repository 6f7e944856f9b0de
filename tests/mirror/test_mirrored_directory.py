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
