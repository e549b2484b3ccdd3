"""When a cell should ring: tests, formulas, how events weigh; imports no other room."""
