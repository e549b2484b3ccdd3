"""The command line, a file per command, imported when it is called; may import every room."""
