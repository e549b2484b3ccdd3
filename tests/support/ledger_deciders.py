"""Run as a program: deciders in processes of their own, on a ledger that is set up already.

``python -m tests.support.ledger_deciders URL together N UNTIL_MS QUERY...`` decides every window in
N processes at once, ``... URL refunding ...`` does so with every other window costing nothing.
``... URL reserve 1 UNTIL_MS QUERY...`` reserves, says so and waits to be killed.
"""

from __future__ import annotations

import os
import sys
import time
import traceback

from tests.support.ledgers import Series, decide_all, open_ledger, requests


def main(url: str, task: str, processes: str, until_ms: str, *queries: str) -> int:
    """Do one of the tasks."""
    period = 10**9
    all_series = [Series(query, period=period) for query in queries]
    if task == "reserve":
        ledger = open_ledger(url)
        ledger.admit("s", requests(all_series, int(until_ms)))
        print("reserved", flush=True)
        time.sleep(60)
        return 1
    children = []
    for number in range(int(processes)):
        child = os.fork()
        if child == 0:
            _decide(url, all_series, int(until_ms), str(number), refunding=task == "refunding")
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


def _decide(url, all_series, until_ms, name, *, refunding):
    code = 1
    try:
        with open_ledger(url) as ledger:
            decide_all(ledger, all_series, until_ms, name, refunding=refunding)
        code = 0
    except BaseException:  # noqa: BLE001  # the parent reads the code, the reader the trace
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
