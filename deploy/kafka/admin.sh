#!/bin/sh
# Runs a command of an administrator's: ADMIN names a file with the login of the user admin.
#
#   admin.sh sh acls.sh
set -eu
umask 077
export ADMIN=${ADMIN:-/tmp/admin.properties}
cat >"$ADMIN" <<END
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="$(cat "${SECRETS:-/run/secrets}/kafka_admin")";
END
exec "$@"
