"""Consumer groups (KIP-848): the coordinator assigns, and each member reconciles at its own pace."""
