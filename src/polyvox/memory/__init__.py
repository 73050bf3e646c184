"""Memory: what was said is kept whole, found again by its words, and told with its source."""
