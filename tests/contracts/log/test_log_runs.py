"""What a log keeps of the contracts in ``tests/contracts/test_ledger_runs.py``."""

from tests.contracts.test_ledger_runs import (  # noqa: F401  # collected here, with other fixtures
    test_a_changed_configuration_ends_the_run,
    test_a_denied_window_leaves_the_run_as_it_is,
    test_a_run_ends_at_the_period_boundary,
    test_a_run_outlives_its_decider,
    test_a_spent_run_is_followed_by_another_if_it_fits,
    test_a_window_across_a_boundary_has_a_run_of_its_own,
    test_an_adoption_ends_the_run,
    test_hundreds_of_windows_cost_their_alarms,
    test_lost_decisions_of_a_run_are_charged_exactly,
    test_many_deciders_at_once_share_one_run,
    test_others_wait_where_an_open_window_decides,
    test_the_first_of_two_deciders_wins,
    test_under_unit_event_the_state_is_kept_and_all_is_charged,
    test_what_a_run_may_still_cost_is_kept_from_others,
)

DATABASES = ["sqlite", "postgresql"]
