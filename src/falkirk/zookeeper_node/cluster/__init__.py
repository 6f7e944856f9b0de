"""What a broker on ZooKeeper knows of its cluster, and how it joins it."""
