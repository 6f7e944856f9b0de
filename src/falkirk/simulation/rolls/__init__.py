"""The operator, who moves nodes between releases and levels up and down while the cluster runs (KIP-584, KIP-1155)."""
