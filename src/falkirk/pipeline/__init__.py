"""The fleet pipeline: files of many clusters to tables, answers about a downgrade, and a report."""
