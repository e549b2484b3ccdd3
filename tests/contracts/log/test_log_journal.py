"""What a log keeps of the contracts in ``tests/contracts/test_ledger_journal.py``."""

from tests.contracts.test_ledger_journal import (  # noqa: F401  # collected here, with other fixtures
    test_a_clock_that_is_not_believed_is_noted_all_the_same,
    test_entries_of_many_at_once_all_count,
)

DATABASES = ["sqlite", "postgresql"]
