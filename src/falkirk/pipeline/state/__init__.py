"""The state of clusters at an offset of their logs, as tables."""
