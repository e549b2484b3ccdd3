"""Whether a worst case fits under the wall; imports records, loss and the rooms below them."""
