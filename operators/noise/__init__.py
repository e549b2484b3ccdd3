"""Exact integer noise, and how far it strays; imports no other room."""
