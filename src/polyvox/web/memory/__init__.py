"""Routes of memory: the contract at the paths that clients know, and the person's own."""
