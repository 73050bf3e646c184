"""Assertions on how an advisor answers, verdicts on answers, prompts improved by measurement."""
