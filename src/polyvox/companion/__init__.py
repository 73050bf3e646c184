"""The companion: one persona that knows the person, reads the moment, and speaks accordingly.

Everything here is pure but the one call of the gate: what is decided, and why, is data.
"""
