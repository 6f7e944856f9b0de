"""Verification of transactions by the brokers that lead their partitions (KIP-890)."""
