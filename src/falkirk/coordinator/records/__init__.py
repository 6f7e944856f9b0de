"""The records of `__consumer_offsets`: their types, the entries of a log, and which releases write and load them."""
