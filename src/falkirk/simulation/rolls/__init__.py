"""Nodes that move between releases while the cluster runs: what an operator plans and does (KIP-584, KIP-1155)."""
