"""What a log keeps of the contracts in ``tests/contracts/test_ledger_failures.py``."""

from tests.contracts.test_ledger_failures import (  # noqa: F401  # collected here, with other fixtures
    test_a_database_of_another_encoding_is_refused,
    test_a_dropped_connection_loses_nothing,
    test_a_full_disk_loses_nothing,
    test_a_restored_backup_is_noticed_and_marked_as_spent,
    test_a_window_that_another_timeline_released_does_not_leave_again,
    test_an_admission_does_not_wait_for_a_decision_that_waits_for_it,
    test_an_unreachable_database_is_a_dependency_error,
    test_decisions_of_two_budgets_do_not_wait_for_each_other,
    test_numbers_go_on_per_query_behind_what_was_seen,
    test_other_databases_are_refused,
    test_the_file_is_private,
    test_the_tests_databases_are_as_users_are,
    test_two_timelines_are_both_charged,
    test_waiting_windows_that_are_passed_over_count_as_spent,
    test_windows_before_an_adopted_one_are_passed_over,
)

DATABASES = ["sqlite", "postgresql"]
