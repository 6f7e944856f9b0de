"""Consumer groups of KIP-848's protocol: the coordinator assigns, each member is led there at its own pace."""
