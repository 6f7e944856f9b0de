"""Files to Arrow batches in the schemas of the tables."""
