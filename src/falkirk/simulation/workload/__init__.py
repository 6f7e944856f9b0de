"""Programs that use the cluster under test: scripted brokers, administrators, producers, consumers, group members."""
