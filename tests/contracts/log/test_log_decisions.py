"""What a log keeps of the contracts in ``tests/contracts/test_ledger_decisions.py``."""

from tests.contracts.test_ledger_decisions import (  # noqa: F401  # collected here, with other fixtures
    test_a_cheaper_settlement_refunds_at_once,
    test_a_clock_that_goes_back_stops_the_ledger,
    test_a_decision_is_stored_once,
    test_a_denied_window_is_not_charged,
    test_a_mark_that_a_wrong_clock_took_along_is_put_back,
    test_losses_fit_into_64_bits,
    test_numbers_do_not_tell_which_query_was_stored_first,
    test_one_at_a_time,
    test_settling_is_refused_out_of_turn_or_beyond_the_reservation,
    test_the_last_decision_dates_what_a_copy_lacks,
    test_the_outbox_keeps_order_and_time,
)

DATABASES = ["sqlite", "postgresql"]
