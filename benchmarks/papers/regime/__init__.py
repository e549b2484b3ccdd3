"""MIDE's and ProBE's two claims that our data did not show, at the papers' own scale."""
