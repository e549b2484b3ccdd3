#!/bin/sh
# Runs tocsin for whatever restarts a process that fails. It ends with 0 where starting over helps nobody:
#
#   2  the configuration or the ledger refuses; the log says what to do
#   3  the plan does not fit
#
# Every other code is handed on. Signals go to tocsin, and so does what is sent while it ends.
tocsin "$@" &
child=$!
for signal in TERM INT HUP; do
    # shellcheck disable=SC2064  # the child's number of now
    trap "kill -$signal $child 2>/dev/null" "$signal"
done
while :; do
    wait "$child"
    code=$?
    kill -0 "$child" 2>/dev/null || break # a wait that a signal cut short says nothing of the child
done
case $code in
    2 | 3)
        echo "serve.sh: tocsin ended with $code and is not started again: mend it, then start it" >&2
        exit 0
        ;;
esac
exit "$code"
