"""The page of a watch: a board of clusters, and one cluster at a time. It reads; nothing is changed from it."""
