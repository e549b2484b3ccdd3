"""ProBE's Figure 10: averages, as one centred sum and as two noisy numbers."""
