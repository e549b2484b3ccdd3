"""What Prometheus sees, public and custodian's apart; imports model and windows."""
