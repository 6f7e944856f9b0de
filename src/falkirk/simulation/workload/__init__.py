"""Programs that use the cluster under test: brokers that register, administrators that change things."""
