"""The HTTP door: the API, and the OpenAI-compatible door beside it."""
