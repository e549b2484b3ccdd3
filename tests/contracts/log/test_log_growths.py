"""What a log keeps of the contracts in ``tests/contracts/test_ledger_growths.py``."""

from tests.contracts.test_ledger_growths import (  # noqa: F401  # collected here, with other fixtures
    test_a_count_of_somebody_who_does_not_know_is_refused,
    test_a_growth_is_announced_and_concluded_once,
    test_a_second_growth_waits_for_the_first,
    test_counts_and_an_announcement_at_once_agree,
    test_partitions_that_are_there_begin_nobody_knows_when,
    test_the_log_may_have_the_partitions_that_were_announced,
    test_what_nobody_announced_is_not_concluded,
    test_windows_that_were_begun_do_not_change,
    test_windows_that_were_denied_ahead_of_their_time_do_not_count,
)
