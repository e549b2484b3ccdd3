#!/bin/sh
# Runs a command of an administrator's: ADMIN names a file with the login of the user admin. Where CA names
# the authority of the brokers' certificates, it asks for TLS.
#
#   admin.sh sh acls.sh
set -eu
umask 077
export ADMIN=${ADMIN:-/tmp/admin.properties}
cat >"$ADMIN" <<END
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="admin" password="$(cat "${SECRETS:-/run/secrets}/kafka_admin")";
END
if [ -n "${CA:-}" ]; then
    printf 'security.protocol=SASL_SSL\nssl.truststore.type=PEM\nssl.truststore.location=%s\n' "$CA"
else
    echo security.protocol=SASL_PLAINTEXT
fi >>"$ADMIN"
exec "$@"
