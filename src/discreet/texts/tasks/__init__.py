"""Tasks about texts: what people are asked, and how it is protected. Reading one loads it by its line in ``local/task.py``."""

from discreet.texts.tasks.phrases import Phrases
from discreet.texts.tasks.shares import WordEstimate, WordShares
from discreet.texts.tasks.substitute import Substitute, Substituted, Terms
from discreet.texts.tasks.topics import Topics

__all__ = ["Phrases", "Substitute", "Substituted", "Terms", "Topics", "WordEstimate", "WordShares"]
