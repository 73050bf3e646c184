"""The store: tables, and the verbs the road needs."""
