"""What a log keeps of the contracts in ``tests/contracts/test_ledger_run_histories.py``."""

from tests.contracts.test_ledger_run_histories import (  # noqa: F401  # collected here, with other fixtures
    test_answers_follow_the_order_whatever_the_interleaving,
    test_broken_twins_are_caught,
)
