"""Answers on the screen: as live columns, as text in a pipe, or not at all (for JSON)."""
