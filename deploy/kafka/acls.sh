#!/bin/sh
# Who may do what on the brokers: as docs/how-to/secure.md says, and nothing else. Run by an
# administrator (super.users); again as often as you like, with other names, feeds or both. Every
# sensor of a run may write to every feed of it: once for each feed that has sensors of its own.
set -eu
acls() { "${KAFKA_ACLS:-kafka-acls.sh}" --bootstrap-server "$BOOTSTRAP" --command-config "${ADMIN:-admin.properties}" "$@"; }
each() { option=$1 prefix=$2; shift 2; for name in "$@"; do printf ' %s %s%s' "$option" "$prefix" "$name"; done; }
feeds=$(each --topic '' ${FEEDS:-building.badges})
sensors=$(each --allow-principal User: ${SENSORS:-sensor-lobby mqtt})
analysts=$(each --allow-principal User: ${ANALYSTS:-analyst-anna})

acls --add $sensors --operation Write --operation Describe $feeds
acls --add $(each --deny-principal User: ${SENSORS:-sensor-lobby mqtt}) --operation All --transactional-id '*'

acls --add --allow-principal User:tocsin --operation Read --operation Describe --operation DescribeConfigs $feeds
acls --add --allow-principal User:tocsin --operation Read --operation Write --operation Describe \
     --operation DescribeConfigs --topic tocsin. --resource-pattern-type prefixed
acls --add --allow-principal User:tocsin --operation Read --operation Describe \
     --group tocsin- --resource-pattern-type prefixed
acls --add --allow-principal User:tocsin --operation Describe --cluster

acls --add $analysts --allow-principal User:notify --operation Read --operation Describe \
     --topic tocsin.alarms --topic tocsin.decisions
acls --add $analysts --operation Read --operation Describe --topic tocsin.counts
acls --add $analysts --operation Read --group analyst- --resource-pattern-type prefixed
acls --add --allow-principal User:notify --operation Read --group notify --resource-pattern-type prefixed

acls --add --allow-principal User:custodian --operation Create --operation Read --operation Describe \
     --operation DescribeConfigs --operation Alter $feeds
acls --add --allow-principal User:custodian --operation Create --operation Read --operation Describe \
     --operation DescribeConfigs --topic tocsin. --resource-pattern-type prefixed
acls --add --allow-principal User:custodian --operation Write --topic tocsin.ownership
acls --add --allow-principal User:custodian --operation Describe --operation DescribeConfigs --cluster
