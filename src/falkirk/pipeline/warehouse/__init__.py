"""The warehouse: Parquet files of each table, and a manifest of what was ingested of each cluster."""
