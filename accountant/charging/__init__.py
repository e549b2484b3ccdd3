"""What one transaction does to charges; imports store, budget and the rooms below them."""
