"""`falkirk api-versions`: the API versions and features of each node (kafka-broker-api-versions)."""
