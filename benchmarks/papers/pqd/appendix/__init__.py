"""All queries of DP-PQD's appendix, on tables of the paper's size, around copies by PrivBayes."""
