"""What one decision costs, as data, and what that leaves an adversary; imports units and errors."""
