"""JSON shapes of memory: the service's contract, and the person's own rooms."""
