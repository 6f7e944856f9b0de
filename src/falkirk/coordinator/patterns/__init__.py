"""Regular expressions of subscriptions, and their matchers."""
