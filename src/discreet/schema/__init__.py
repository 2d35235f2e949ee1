"""Public facts about private data: columns, who is protected, sensitivities."""

from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.units import person, rows

__all__ = ["boolean", "category", "date", "integer", "number", "person", "rows", "text"]
