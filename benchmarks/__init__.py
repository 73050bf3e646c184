"""`make bench`: Polyvox measured side by side with a direct reader and with LiteLLM."""
