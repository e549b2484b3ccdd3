"""What a log keeps of the contracts in ``tests/contracts/test_ledger_caps.py``."""

from tests.contracts.test_ledger_caps import (  # noqa: F401  # collected here, with other fixtures
    test_a_cap_is_of_the_configuration_that_asks,
    test_a_changed_configuration_counts_people_anew,
    test_a_dearer_window_waits_for_those_before_it,
    test_a_denied_window_refunds_only_where_it_was_among_the_dearest,
    test_only_windows_under_a_cap_look_for_what_people_used_up,
    test_what_people_used_up_is_kept_behind_the_cursor,
    test_what_people_used_up_is_no_part_of_an_export,
    test_windows_beyond_the_cap_are_free,
)
