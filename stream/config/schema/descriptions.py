"""What every key of a configuration and of a file of tests means, in a sentence, for editors.

The whole of it is in ``docs/guide/configuration.md`` and ``docs/guide/testing.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from operators.registry import OFFERED
from stream.config.alarms.mechanism_keys import OWN_KEYS
from stream.config.delivery.descriptions import DELIVERY, LIFECYCLE

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CASES", "DESCRIPTIONS"]

CASES: Final = ("file of tests",)
"""Begins the places in a file of tests."""

_ALARM: Final = ("alarms", "*")

_OF_MECHANISMS: Final = {
    "max_fpr": "most probable false alarm beyond the tolerance; as max_fnr where left out",
    "max_fnr_given_no_alarm": "most probable miss for who knows that the run has not fired so far",
    "bounded_error": "which errors are bounded up to the threshold: fnr (misses), or fpr",
    "levels": "which noise levels a progressive mechanism reads",
    "max_alarms": "alarms of one SVT run",
    "repeat": "how often a group of one window is asked, until it fires",
    "repeat_in": "whether it is asked again at once, or among the next windows' groups",
    "release": "what is published of a window: alarms, or the noisy counts of its groups, too",
    "decider": "how a band is decided; auto takes the most effective one",
    "bound": "what decider: svt asks of its private bound of the values",
    "epsilon": "of a band: loss of one group of one window, written as epsilon_max",
    "reference": "what a band lies around: a number, usual[shop], or {feed: forecast}",
}
"""Keys under the name of a mechanism that reads them."""

_INSIDE: Final[Mapping[str, Mapping[str, str]]] = {
    "reference": {
        "value": "a number, or a public table's value for a group field: usual[shop]",
        "feed": "a public feed that holds nobody's data: the same aggregate of it",
    },
    "levels": {
        "first": "loss of the coarsest level; a tenth of the last one's at most",
        "rounds": "levels in geometric progression, the first and the last included",
        "refinement": "equal parts that every interval between two of them is cut into",
        "finest_share": "part of max_fnr and max_fpr that the last level may use",
    },
    "bound": {
        "theta": "how many of the events the bound leaves whole, as 0.95",
        "epsilon": "what the bound takes of the alarm's epsilon; a third unless written",
    },
}
"""Keys inside those."""

DESCRIPTIONS: Final[Mapping[tuple[str, ...], Mapping[str, str]]] = {
    (): {
        "timezone": "IANA time zone of days, schedules and instants without an offset",
        "kafka": "how to reach Kafka; not needed for replays of files",
        "ledger": "where spending is kept: sqlite:///relative.db or postgresql://user:password@host/name",
        "metrics": "where metrics are shown",
        "log": "what a worker says on standard error",
        "tick": "alarms leave on multiples of this",
        "tables": "public tables of thresholds and references",
        "feeds": "topics of events; a topic belongs to one feed",
        "budget": "what may be lost, and by whom",
        "alarms": "when to ring",
        "deliver": "where tocsin deliver brings alarms",
        "board": "where tocsin board shows them",
    },
    ("kafka",): {
        "bootstrap": "host:port, several separated by commas",
        "group": "prefix of the consumer groups",
        "alarms_topic": "where alarms are written",
        "decisions_topic": "where one record per query and window is written",
        "counts_topic": "where noisy counts are written, of alarms with release: counts",
        "doorbell_topic": "internal",
        "ledgers_topic": "internal: which ledger has claimed a feed; the same in all of a cluster",
        "security": "how clients prove who they are",
        "session_timeout": "of both consumer groups, at least 1s",
    },
    ("kafka", "security"): {
        "security_protocol": "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        "sasl_mechanism": "as PLAIN or SCRAM-SHA-512",
        "sasl_username": "who the clients are",
        "sasl_password": "best from a file: ${file:PATH}",
        "ssl_cafile": "file of the authorities that sign the brokers' certificates",
        "ssl_certfile": "file of the clients' certificate",
        "ssl_keyfile": "file of the clients' key",
    },
    ("metrics",): {
        "public": "host:port of what everyone may see",
        "custodian": "host:port of exact counts, drops and lags",
        "custodian_token": "bearer token; required where custodian is bound beyond loopback",
    },
    ("log",): {
        "level": "the least that is written; read again on SIGHUP",
        "format": "text, or json: one object a line",
    },
    ("tables", "*"): {
        "file": "a CSV file with a header, beside the configuration",
        "key": "the column of group values; the first one where left out",
        "value": "the column of numbers; the second one where left out",
    },
    ("feeds", "*"): {
        "topic": "Kafka topic, partitioned by unit",
        "codec": "json, or arrow: one message is one IPC stream",
        "time": "the field with the event time, a timestamp",
        "unit": "the field with the privacy unit's id: who is protected",
        "id": "a field that tells events apart, to remove duplicates",
        "fields": "declared fields; an event with another type in one of them is dropped alone",
        "partitioner": "how the producer's client hashes the unit to a partition",
        "clock": "append_time, or punctuation for history replayed by a trusted writer",
        "allowed_skew": "an event dated later than its append time by more than this never counts",
        "broker_skew": "how far append times may step back within a partition",
        "idle_margin": "how long past a cut an idle partition is waited for",
        "history": "the public span that a replay decides",
        "punctuation": "marks that say what time it is, with clock: punctuation",
    },
    ("feeds", "*", "fields", "*"): {
        "type": "what its values are; string where a domain is given",
        "domain": "its public values: a list, or a file with one per line; required to group by it",
        "clip": "[lo, hi]: values are kept within; required to sum or rank them",
        "granule": "the step that values are counted in",
        "fixed": "true where a unit never changes it: each unit then has one value of it",
    },
    ("feeds", "*", "history"): {
        "from": "the first instant that counts",
        "until": "the first instant that does not count any more",
    },
    ("feeds", "*", "punctuation"): {
        "every": "the grid of the marks",
        "key": "16 bytes or more that authenticate the marks, best from a file: ${file:PATH}",
    },
    ("budget",): {
        "privacy_unit": "what neighbours differ in: a person's events of a period, or one event",
        "on_shortfall": "deny: more windows than fit may be asked for; refuse: they may not",
        "epsilon_max": 'never passed: "4", "0.5", 7/2 or a whole number; a bare float is refused',
        "privacy": "pure: epsilon_max holds always; gdp: but for delta, by Gaussian privacy",
        "delta": "privacy: gdp only: the probability added on top of the factor e^epsilon_max",
        "period": "renewed every period: 12h, 1d, 1w; or lifetime",
        "contribution": "privacy_unit: user only: what of one person counts in windows and periods",
    },
    ("budget", "contribution"): {
        "max_groups_per_window": "in how many groups of a window one person may count",
        "max_events_per_group": "how many of one person's events count in one group of a window",
        "max_windows_per_period": "in how many windows of an alarm one person counts in a period",
    },
    _ALARM: {
        "sql": "SELECT ... FROM feed [WHERE ...] GROUP BY ..., TUMBLE(...) HAVING ...",
        "active": 'public schedule in timezone: "Mon-Fri 07:00-22:00"; always, where left out',
        "baseline": "the aggregate in an ordinary window: a number, or a table",
        "max_fnr": "most probable miss of a true alarm, between 0 and 1",
        "false_alarms": "how many are tolerated, as 1 per week: tocsin plan looks for a way",
        "max_delay": "how late an alarm may be published, as 10m: tocsin plan looks for a way",
        "episodes": "how many times a budget period has to carry what the alarm is about",
        "share": "the part of epsilon_max that is this alarm's own in every period",
        "tolerance": "how far below the threshold firing is no error; 0 costs most",
        "mechanism": "how it is decided: a name, or a name with its keys",
        "hold": "a group that fired is not asked for so long, costs nothing and stays firing: 3h",
        "severity": "thresholds by name, from the least severe, where HAVING says SEVERITY",
        "lifecycle": "when an alarm begins and ends, and what is said of it",
        "timing": "how long it waits, and for what",
    },
    (*_ALARM, "timing"): {
        "grace": "an event counts if it is appended before window end + grace",
        "publish_delay": "alarms leave this long after window end + grace, at the next tick",
        "decide_timeout": "how long a missing partition may stand still before a window is denied",
        "reference_timeout": "how long a reference's feed may stand still, then a window is denied",
        "max_age": "at catch-up, a window older than this is denied",
    },
    (*_ALARM, "lifecycle"): LIFECYCLE,
    (*_ALARM, "severity", "*"): {
        "threshold": "a number, or a public table's value: capacity[room]",
        "max_fnr": "of this level; the alarm's unless written",
        "max_fpr": "of this level; the alarm's unless written",
        "tolerance": "of this level; the alarm's unless written",
    },
    (*_ALARM, "mechanism"): {
        name: OFFERED[name].releases if name in OFFERED else "tocsin plan looks for one"
        for name in OWN_KEYS
    },
    **{
        (*_ALARM, "mechanism", name): {key: _OF_MECHANISMS[key] for key in keys}
        for name, keys in OWN_KEYS.items()
    },
    **{
        (*_ALARM, "mechanism", name, key): said
        for name, keys in OWN_KEYS.items()
        for key, said in _INSIDE.items()
        if key in keys
    },
    **DELIVERY,
    CASES: {
        "alarms": "the configuration that is tested, or a list of them, beside this file",
        "tests": "what goes in, and what is to come out",
    },
    (*CASES, "tests", "*"): {
        "name": "what the test shows; printed with its verdict",
        "alarm": "which alarm; needed where there are several",
        "counts": "exact aggregates of one window, by predicate; 0 for those not named",
        "references": "what a band lies around, by predicate, where a feed says it",
        "events": "made-up events: a list, a file, or either by feed; counted as a replay counts",
        "ring": "how likely predicates ring: >= 0.99, or 0.2 to 0.4",
        "windows": "what is expected of windows of the events",
        "dropped": "how many events are dropped, by reason; of a list, none where left out",
        "sampled": "estimate by so many draws of the mechanism, where no exact law is known",
    },
    (*CASES, "tests", "*", "windows", "*"): {
        "start": "the instant that the window starts at; in timezone, unless it has an offset",
        "counts": "its exact aggregates, caps applied, by predicate; others are not looked at",
        "left_out": "how many events caps leave out: repeats, beyond_predicates, ...",
        "ring": "how likely predicates ring",
    },
}
"""By the place of the mapping (``*`` stands for a name the user chose), then by its key."""
