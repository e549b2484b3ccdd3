#!/bin/sh
# Prints the broker's settings: server.properties beside this file, and on every listener who may log in.
# A user is a file kafka_NAME in the folder SECRETS that holds a password of letters and digits.
set -eu
here=$(dirname "$0")
secrets=${SECRETS:-/run/secrets}

users=
for file in "$secrets"/kafka_*; do
    password=$(cat "$file")
    case $password in
        '' | *[!A-Za-z0-9]*) echo "settings.sh: $file: write letters and digits only" >&2; exit 2 ;;
    esac
    users="$users user_${file##*/kafka_}=\"$password\""
done
admin="username=\"admin\" password=\"$(cat "$secrets/kafka_admin")\""

cat "$here/server.properties"
for listener in workers custodian sensors analysts host_sensors host_analysts; do
    module=org.apache.kafka.common.security.plain.PlainLoginModule
    echo "listener.name.$listener.plain.sasl.jaas.config=$module required $admin$users;"
done
