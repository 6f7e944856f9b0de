"""What a node reads and checks before it runs."""
