#!/bin/sh
# What the broker's container runs: settings with secrets go to memory, never to a disk.
set -eu
umask 077
here=$(dirname "$0")
bin=${KAFKA_BIN:-/opt/kafka/bin}
export LOG_DIR=/tmp/logs
sh "$here/settings.sh" >/tmp/server.properties
"$bin/kafka-storage.sh" format --ignore-formatted --cluster-id "$CLUSTER_ID" --config /tmp/server.properties
exec "$bin/kafka-server-start.sh" /tmp/server.properties
