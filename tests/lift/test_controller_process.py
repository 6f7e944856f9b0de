"""The directory of falkirk's controller: whose it may be, and what each start writes there."""

import pytest
from lift_fakes import VOTERS

from falkirk.client.config import ClientConfig
from falkirk.lift.controller_process import PROPERTIES, ControllerProcess
from falkirk.lift.errors import LiftError
from falkirk.lift.lift_file import Place

ANOTHER = "AAAAAAAAAAAAAAAAAAAAAQ"


def process(directory, *, node_id=9001, cluster_id="AAAAAAAAAAAAAAAAAAAAAA", properties=None):
    place = Place(node_id=node_id, listener="127.0.0.1:1", directory=str(directory), properties=properties or {})
    bootstrap = [voter.endpoint for voter in VOTERS]
    return ControllerProcess(place, cluster_id=cluster_id, bootstrap=bootstrap, level="4.3-IV0", config=ClientConfig())


def test_a_directory_with_something_else_in_it_is_refused_and_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    with pytest.raises(LiftError, match=r"must be empty at the beginning$"):
        process(tmp_path).check_directory()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        ({"cluster_id": ANOTHER}, f"the directory is of cluster AAAAAAAAAAAAAAAAAAAAAA, not {ANOTHER}"),
        ({"node_id": 9002}, "the directory is of node 9001, and place.node_id is 9002"),
    ],
)
def test_the_directory_of_another_controller_is_refused(tmp_path, other, problem):
    process(tmp_path).format()
    process(tmp_path).check_directory()
    with pytest.raises(LiftError, match=f"{problem}$"):
        process(tmp_path, **other).check_directory()


def test_properties_that_were_corrected_since_are_those_of_the_next_start(tmp_path):
    process(tmp_path, properties={"super.users": "User:wrong"}).format()
    before = process(tmp_path).as_voter
    process(tmp_path, properties={"super.users": "User:right"}).format()
    assert b"User\\:right" in (tmp_path / PROPERTIES).read_bytes()
    assert process(tmp_path).as_voter == before
