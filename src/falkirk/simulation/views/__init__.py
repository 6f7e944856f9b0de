"""What checkers read: replicas of the metadata log, brokers' logs, levels, files, and marks that runs must reach."""
