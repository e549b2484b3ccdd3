"""The file of ``tocsin bridge``: its keys, and what they become."""
