"""What may be said to a request, as functions of a state: entries to append, or a refusal."""
