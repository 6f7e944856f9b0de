"""Work that Spark's workers do."""

import pytest

from falkirk.pipeline.errors import PipelineError
from falkirk.pipeline.spark.job_progress import NoProgress
from falkirk.pipeline.spark.session import PLANNED_ONCE
from falkirk.pipeline.spark.tasks import run_tasks

SETTINGS = tuple(PLANNED_ONCE)


def checked(number):
    if number == 13:
        raise PipelineError(f"no {number} here")
    return number * number


@pytest.mark.slow
def test_every_item_is_done_once_and_sparks_settings_stay_as_they_were(spark):
    spark.conf.set(SETTINGS[1], "false")
    before = [spark.conf.get(name) for name in SETTINGS]
    try:
        for count in (1, 13):
            done = run_tasks(spark, checked, range(count), [count] * count, title="x", progress=NoProgress())
            assert sorted(done) == [number * number for number in range(count)]
        with pytest.raises(PipelineError, match=r"^no 13 here$"):
            run_tasks(spark, checked, range(20), [1] * 20, title="x", progress=NoProgress())
        assert [spark.conf.get(name) for name in SETTINGS] == before == ["true", "false"]
    finally:
        spark.conf.set(SETTINGS[1], "true")
