"""What a log keeps of the contracts in ``tests/contracts/test_ledger_counts.py``."""

from tests.contracts.test_ledger_counts import (  # noqa: F401  # collected here, with other fixtures
    test_a_contradicting_partial_is_never_forgotten,
    test_a_partial_of_another_log_or_configuration_is_refused,
    test_a_partition_stands_still_only_while_somebody_could_read_on,
    test_all_feeds_are_reported_in_one_transaction,
    test_partials_come_back_as_they_were,
    test_punctuation_marks,
    test_recount_of_a_cut_slice_contradicts_nothing,
)
