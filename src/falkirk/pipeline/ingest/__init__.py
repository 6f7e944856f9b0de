"""Files to a warehouse: units of work run by Spark, then a commit for each cluster; once or as a stream."""
