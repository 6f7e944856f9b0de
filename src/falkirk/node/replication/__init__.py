"""The partitions of a broker: leading, following, and the requests that wait for either."""
