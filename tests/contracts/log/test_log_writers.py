"""What a log keeps of the contracts in ``tests/contracts/test_ledger_writers.py``."""

from tests.contracts.test_ledger_writers import (  # noqa: F401  # collected here, with other fixtures
    test_a_release_tells_what_it_may_take_along,
    test_releases_are_counted_by_process,
    test_what_was_charged_is_taken_as_known,
)

DATABASES = ["sqlite", "postgresql"]
