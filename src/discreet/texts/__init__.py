"""Texts under privacy: words, sentences and documents, each release with whom it protects: a word, a document or a person."""

from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import Vocabulary

__all__ = ["Tokenizer", "Vocabulary"]
