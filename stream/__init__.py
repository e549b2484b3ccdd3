"""Everything that touches the world: configuration, files, Kafka, metrics, the command."""
