"""`falkirk fleet`: files of many clusters as tables on Spark."""
