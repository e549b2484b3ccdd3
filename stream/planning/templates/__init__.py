"""From a sentence to a configuration: what ``tocsin init`` asks for becomes files.

:mod:`answers` says what is asked and what the templates answer by themselves, :mod:`samples` what
a sample of events shows, :mod:`filling` how the budget carries it, :mod:`events` makes
events up, and :mod:`texts` puts all of it into words.
"""
