"""Every run of a small quorum, up to a depth, on the shipped replicas of the metadata log."""
