"""Background work that survives: jobs in the database, done by whoever is alive."""
