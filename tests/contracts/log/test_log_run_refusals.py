"""What a log keeps of the contracts in ``tests/contracts/test_ledger_run_refusals.py``."""

from tests.contracts.test_ledger_run_refusals import (  # noqa: F401  # collected here, with other fixtures
    test_a_run_that_does_not_add_up_is_refused,
    test_a_run_where_none_was_reserved_is_refused,
    test_requests_of_a_run_ask_for_a_whole_one,
    test_the_run_before_last_is_refused,
)
