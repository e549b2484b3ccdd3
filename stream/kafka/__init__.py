"""The Kafka shell: the only place that imports Faust, aiokafka or kafka-python."""
