"""A fleet's metadata logs, groups and request logs as tables on Spark, and what they say of the way up and down."""
