"""Models: a request becomes a reply, whoever gives it."""
