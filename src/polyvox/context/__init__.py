"""Context: pure functions from what is known of a conversation to what an advisor is sent."""
