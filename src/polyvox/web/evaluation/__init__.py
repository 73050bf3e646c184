"""Routes of the evaluation room: assertions, runs and verdicts, optimisations."""
