"""The wheel of this tree."""

import pytest
from built_packages import built
from played_pages import ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return built(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")
