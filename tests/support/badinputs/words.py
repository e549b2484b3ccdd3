"""Command lines: wrong commands, options, numbers, files and names."""

from __future__ import annotations

WORDS = """
chek alarms.yaml
CHECK alarms.yaml
status alarms.yaml
alarms.yaml plan
--verison
-x
check
check missing.yaml
check .
check --jsn alarms.yaml
plan
plan --jsom alarms.yaml
plan alarms.yaml --runs 3
plan badges.jsonl
check badges.jsonl
check rooms.txt
run
run badges.jsonl
run alarms.yaml --json --accept-drops
run alarms.yaml badges.jsonl
run alarms.yaml --replay
run alarms.yaml --reply badges.jsonl
run alarms.yaml --replay badges.jsonl --log-format loud
run alarms.yaml --replay badges.jsonl --log-format text
run alarms.yaml --custodian-report x.prom
run alarms.yaml --replay badges.jsonl --custodian-report .
run alarms.yaml --replay badges.jsonl --custodian-report none/x.prom
run --replay badges.jsonl
run alarms.yaml --replay missing.jsonl
run alarms.yaml --replay .
run alarms.yaml --replay alarms.yaml
run alarms.yaml --replay badges=missing.jsonl
run alarms.yaml --replay doors=badges.jsonl
run alarms.yaml --replay bagdes=badges.jsonl
run alarms.yaml --replay =badges.jsonl
run alarms.yaml --replay badges=
run alarms.yaml --replay -
run alarms.yaml --replay badges.jsonl badges.jsonl
run alarms.yaml --replay badges=badges.jsonl --replay badges=badges.jsonl
run alarms.yaml --replay badges.jsonl badges=./badges.jsonl
run alarms.yaml --replay https://example.org/badges.jsonl
run alarms.yaml --replay *.jsonl
run alarms.yaml --replay badges.jsonl --json=yes
run alarms.yaml --replay badges.jsonl --dryrun
run alarms.yaml alarms.yaml --replay badges.jsonl
simulate
simulate alarms.yaml
simulate alarms.yaml --replay badges.jsonl --runs 0
simulate alarms.yaml --replay badges.jsonl --runs -3
simulate alarms.yaml --replay badges.jsonl --runs many
simulate alarms.yaml --replay badges.jsonl --limit -1
simulate alarms.yaml badges.jsonl
simulate alarms.yaml --replay badges.jsonl --json .
simulate alarms.yaml --replay missing.jsonl
simulate alarms.yaml --replay badges.jsonl --alarm smoke
simulate alarms.yaml --replay badges.jsonl --json missing/out.json
topics
topics check
topics alarms.yaml
topics create alarms.yaml --partitions 0
topics create alarms.yaml --partitions -4
topics create alarms.yaml --partition 4
watch
watch alarms.yaml --from-begining
watch alarms.yaml --limit -1
export alarms.yaml
export alarms.yaml badges
export alarms.yaml doors out.parquet
export alarms.yaml badges alarms.yaml
export alarms.yaml badges .
export alarms.yaml badges nowhere/log.parquet
topics add-partitions alarms.yaml
topics add-partitions alarms.yaml badges
topics add-partitions alarms.yaml badges --partitions 0
topics add-partitions alarms.yaml badges --partitions 8
load alarms.yaml
ledger
ledger alarms.yaml
ledger status
ledger status alarms.yaml
ledger alarms.yaml statu
ledger alarms.yaml spend
ledger missing.yaml status
ledger alarms.yaml status
ledger alarms.yaml verify
ledger alarms.yaml losses
ledger alarms.yaml losses crowd
ledger alarms.yaml losses crwd
ledger alarms.yaml losses crowd --at soon
ledger alarms.yaml losses crowd --at 2025-02-30
ledger alarms.yaml export
ledger alarms.yaml archive
ledger alarms.yaml archive badges.jsonl
ledger alarms.yaml archive old --before tomorrow
ledger alarms.yaml remove-alarm
ledger alarms.yaml remove-alarm crowd --yes
ledger alarms.yaml remove-alarm nobody --yes
ledger alarms.yaml backup
ledger alarms.yaml backup copy.db
ledger alarms.yaml apply
ledger alarms.yaml verify --checkpoint x
ledger alarms.yaml verify --checkpoint user=1
ledger alarms.yaml verify --since user=-1:zz
ledger alarms.yaml reset-clock --yes
check alarms.yaml --json
plan none.yaml --json
topics add-partitions alarms.yaml badges --partitions 1
topics add-partitions alarms.yaml badges --partitions 3 --settle soon
"""
"""What was typed, one a line; the first is empty."""
