"""The JSON Schema of configurations, made from the keys that the reader knows."""
