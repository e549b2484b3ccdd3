"""What many charges cost one row together, never understated; imports costs, regions and units."""
