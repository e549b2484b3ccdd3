"""What a log keeps of the contracts in ``tests/contracts/test_ledger_concurrency.py``."""

from tests.contracts.test_ledger_concurrency import (  # noqa: F401  # collected here, with other fixtures
    test_many_open_an_empty_database_at_once,
    test_threads_grant_exactly_what_fits,
)

DATABASES = ["sqlite", "postgresql"]
