#!/bin/sh
# What the MQTT broker's container runs: passwords go to memory, never to a disk.
set -eu
umask 077
here=$(dirname "$0")
sh "$here/passwords.sh" /tmp/passwords
cat "$here/acl" >/tmp/acl # it warns of files that others own or read
exec mosquitto -c "$here/mosquitto.conf"
