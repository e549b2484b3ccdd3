#!/bin/sh
# Makes the secrets that docker-compose.yml reads, one file each; those that are there stay as they are.
#
#   deploy/secrets.sh [FOLDER]      default: secrets, beside docker-compose.yml
set -eu
folder=${1:-$(dirname "$0")/../secrets}
mkdir -p "$folder"
chmod 700 "$folder" # the containers' users read the files, of this machine's only who owns the folder
for name in db_password custodian_token metrics_token grafana_public_password grafana_custodian_password \
    kafka_admin kafka_tocsin kafka_custodian kafka_sensor kafka_mqtt kafka_analyst kafka_notify \
    mqtt_sensor mqtt_mqtt mqtt_analyst mqtt_notify; do
    file=$folder/$name
    [ -s "$file" ] && continue
    # Letters and digits: one becomes part of a URL, others of the broker's settings.
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$file"
    chmod 444 "$file"
done
