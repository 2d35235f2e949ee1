"""Days and moments: as texts in a format, and read off texts, as DuckDB reads them.

Spark's own parsers of days depend on its settings and raise, so texts are taken apart by their shapes, and a day is made of three
numbers by ``try_make_date``'s kind of arithmetic: what is no day of the calendar is missing.
"""
