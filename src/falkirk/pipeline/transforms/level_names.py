"""Names of metadata.versions, as a column."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from falkirk.versions.metadata_version import METADATA_VERSIONS

if TYPE_CHECKING:
    from pyspark.sql import Column


def level_name(level: Column) -> Column:
    """Return the name of a level, `3.9-IV0`; null for an unknown one."""
    names = ((sf.lit(int(version.level)), sf.lit(version.name)) for version in METADATA_VERSIONS)
    return sf.try_element_at(sf.create_map(*chain.from_iterable(names)), level.cast("int"))
