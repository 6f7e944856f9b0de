"""The Spark session, tasks on its workers, and tables in Spark's types."""
