"""What a log keeps of the contracts in ``tests/contracts/test_ledger_pins.py``."""

from tests.contracts.test_ledger_pins import (  # noqa: F401  # collected here, with other fixtures
    test_a_feed_has_one_budget,
    test_a_file_has_one_budget,
    test_a_file_of_somebody_is_no_public_reference,
    test_a_topic_has_one_budget,
    test_accepted_change_gives_old_reservations_back,
    test_accepted_change_takes_effect_at_a_boundary,
    test_budget_never_changes,
    test_events_keep_the_field_that_dates_them,
    test_identity_stays,
    test_log_never_changes,
    test_query_change_is_named,
    test_reservation_of_the_old_configuration_is_missed,
    test_retired_query_gives_its_reservations_back,
    test_rows_of_a_query_are_what_was_registered,
)
