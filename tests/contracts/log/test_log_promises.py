"""What a log keeps of the contracts in ``tests/contracts/test_ledger_promises.py``."""

from tests.contracts.test_ledger_promises import (  # noqa: F401  # collected here, with other fixtures
    test_a_pure_budget_stays_pure,
    test_another_promise_is_refused,
    test_the_wall_holds_what_was_promised,
    test_what_was_charged_under_another_promise_is_not_taken_over,
)
