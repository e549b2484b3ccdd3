"""What a log keeps of the contracts in ``tests/contracts/test_ledger_keeping.py``."""

from tests.contracts.test_ledger_keeping import (  # noqa: F401  # collected here, with other fixtures
    test_a_run_keeps_nothing_once_it_is_over,
    test_a_share_changes_with_the_configuration,
    test_a_share_is_there_at_the_end_of_the_period,
    test_an_adopted_decision_is_drawn_from_its_share,
    test_an_alarm_may_draw_more_than_its_share,
    test_an_open_run_is_not_cut_off,
    test_another_process_keeps_the_same,
    test_what_was_drawn_of_a_share_is_not_kept_twice,
)
