"""server.properties of a broker on ZooKeeper."""
