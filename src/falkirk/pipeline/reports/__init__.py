"""Reports for people and scripts: one page, JSON, Parquet."""
