"""Online migration (KIP-848): groups that change between the classic and the consumer protocol, or mix both."""
