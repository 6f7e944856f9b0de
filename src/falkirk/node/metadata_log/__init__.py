"""The metadata log of a node: driving its replica, applying what is committed, writing snapshots."""
