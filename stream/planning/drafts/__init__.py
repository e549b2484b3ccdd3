"""From a sentence to a configuration: what ``tocsin init`` asks for becomes files.

:mod:`answers` says what is asked and what the templates answer by themselves, :mod:`looking` what
a sample of events shows, :mod:`fitting` which tolerance the budget carries, :mod:`events` makes
events up, and :mod:`texts` puts all of it into words.
"""
