"""What a log keeps of the contracts in ``tests/contracts/test_ledger_heads.py``."""

from tests.contracts.test_ledger_heads import (  # noqa: F401  # collected here, with other fixtures
    test_a_copy_that_went_on_is_told_from_its_twin,
    test_the_file_beside_a_ledger_stays_short,
)
