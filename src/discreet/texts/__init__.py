"""Texts under privacy: words, sentences and documents, each release with whom it protects: a word, a document or a person."""

from discreet.texts.attack import Attack, Bigrams, attack, plot_attacks
from discreet.texts.distances import Distances, Tree, Vectors
from discreet.texts.tasks import Phrases, Substitute, Substituted, Terms, Topics, WordEstimate, WordShares
from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import Vocabulary

__all__ = ["Attack", "Bigrams", "Distances", "Phrases", "Substitute", "Substituted", "Terms", "Tokenizer", "Topics", "Tree"]
__all__ += ["Vectors", "Vocabulary", "WordEstimate", "WordShares", "attack", "plot_attacks"]
