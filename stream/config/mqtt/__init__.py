"""The file of ``tocsin mqtt``: its keys, and what they become."""
