"""What a log keeps of the contracts in ``tests/contracts/test_ledger_answers.py``."""

from tests.contracts.test_ledger_answers import (  # noqa: F401  # collected here, with other fixtures
    test_a_budget_is_served_only_for_who_knows_all_of_it,
    test_a_ledger_that_went_back_says_so,
    test_a_window_across_periods_is_charged_to_both,
    test_a_window_denied_while_it_waits_misses_its_answer,
    test_admission_is_served_once_and_in_order,
    test_an_answer_comes_as_soon_as_nothing_can_change_it,
    test_an_event_is_never_forgiven,
    test_cells_that_cost_little_leave_room_where_they_are,
    test_later_windows_never_speak_against_earlier_ones,
    test_overlapping_windows_add_up_under_unit_event,
    test_periods_add_up_under_unit_user,
    test_queries_over_other_rows_do_not_add_up,
    test_tumbling_windows_go_on_for_ever_under_unit_event,
    test_what_ends_many_windows_answers_once,
    test_windows_too_old_reserve_nothing,
)

DATABASES = ["sqlite", "postgresql"]
