"""What people read: one page, JSON, Parquet."""
