#!/bin/sh
# Writes the MQTT broker's file of passwords: a user is a file mqtt_NAME in the folder SECRETS.
#
#   passwords.sh FILE
set -eu
umask 077
secrets=${SECRETS:-/run/secrets}
: >"$1"
for file in "$secrets"/mqtt_*; do
    printf '%s:%s\n' "${file##*/mqtt_}" "$(cat "$file")" >>"$1"
done
mosquitto_passwd -U "$1" # hashed in place: no password stands on a command line
