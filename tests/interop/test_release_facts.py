"""What `schemas/facts` says of a release is what its jars say."""

import gzip
from pathlib import Path

import config_facts
import pytest

import version_facts
from facts_from_jars import main

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("release", ["3.7.2", "4.4.0"])
def test_the_facts_read_off_the_jars_again_are_the_same_bytes(
    release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, kept_configs = version_facts.file_of(release).read_bytes(), config_facts.config_facts(release)
    monkeypatch.setattr(version_facts, "FOLDER", tmp_path)
    monkeypatch.setattr(config_facts, "FOLDER", tmp_path)
    main([release])
    assert version_facts.file_of(release).read_bytes() == kept
    assert gzip.decompress((tmp_path / f"facts-{release}.json.gz").read_bytes()).decode() == kept_configs
