"""From partials to decisions to the records that leave; imports model and windows."""
