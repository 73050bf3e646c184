"""The stream: what happens is stored, then shown."""
