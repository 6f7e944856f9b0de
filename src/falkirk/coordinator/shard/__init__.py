"""What a partition of `__consumer_offsets` is to the broker that leads it: requests in, records and answers out."""
