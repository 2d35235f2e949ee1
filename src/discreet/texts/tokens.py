"""A tokenizer: the public rules by which a text is cut into words, the same in Python and in JavaScript.

1. The text is brought into a Unicode normal form and, unless ``case="keep"``, into lower case; curly apostrophes are straight.
2. A piece between white space that is, but for punctuation around it, an address of mail or of the web becomes ``<email>`` or
   ``<url>``.
3. The rest is cut into numbers (digits, with ``.``, ``,`` or ``:`` between them) and words: letters, marks and digits, with an
   apostrophe inside. A number becomes ``<number>``; one of five digits or more (a telephone, an account) becomes ``<digits>``.
4. Everything else stands between words and is dropped: punctuation, emoji, controls.

Every rule is a fixed function of one text, and any text has some (perhaps no) words. The work grows with the length alone, for no
pattern looks at a character more than a few times.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property, lru_cache

from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused

FORMS, CASES, CLASSES = ("NFKC", "NFC"), ("lower", "keep"), ("email", "url", "number", "digits")

MOST_CHARACTERS = 2**20
"""Of one document; a longer one is refused whole."""

_SPACE = re.compile(r"[ \t\n\r\f\v]+")
_AROUND = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”„‘’«»…–—"
_MAIL = re.compile(r"[^@]+@[^@.]+(?:\.[^@.]+)+")
_LONG = 5  # digits
_MARKED = ((0x300, 0x3100), (0xA66F, 0xAC00), (0xFB1E, 0xFB1F), (0xFE00, 0xFE30), (0x10100, 0x1F000), (0xE0100, 0xE01F0))


@called_as("")
@dataclass(frozen=True)
class Tokenizer:
    """How texts are cut into words: normal form, case, and which classes of words become one word.

    >>> Tokenizer().tokens("Ring 0171 123456 or mail bob@example.org; it's free: £5.00!")
    ['ring', '<number>', '<digits>', 'or', 'mail', '<email>', "it's", 'free', '<number>']
    """

    form: str = "NFKC"
    case: str = "lower"
    classes: tuple[str, ...] = CLASSES

    def __post_init__(self) -> None:
        if not isinstance(self.form, str) or self.form not in FORMS:
            raise ParameterError("form must be 'NFKC' or 'NFC', which compose; write Tokenizer(form='NFC').")
        if not isinstance(self.case, str) or self.case not in CASES:
            raise ParameterError("case must be 'lower' or 'keep'; write Tokenizer(case='keep').")
        given = self.classes if isinstance(self.classes, (list, tuple)) else (None,)
        if not all(isinstance(one, str) and one in CLASSES for one in given) or len(set(given)) < len(given):
            raise ParameterError(f"classes are some of {', '.join(CLASSES)}, each once; write Tokenizer(classes=('number',)).")
        object.__setattr__(self, "classes", tuple(one for one in CLASSES if one in given))

    @property
    def marks(self) -> tuple[str, ...]:
        """The words that stand for a class each."""
        return tuple(f"<{one}>" for one in self.classes)

    def tokens(self, text: str) -> list[str]:
        """The words of a text, in order. Whatever the text holds, this is a list of words; what is no text is refused."""
        normal = self._normalize(check_text(text))
        pattern = _pattern(marked=not normal.isascii() and _marked(normal))
        if not self._addressed(normal):
            found = pattern.findall(normal)
        else:
            found = []
            for piece in _SPACE.split(normal):
                address = self._address(piece)
                found.extend([address] if address else pattern.findall(piece))
        if not self._numbered:
            return found
        return [self._number(word) if word[0].isdecimal() else word for word in found]

    def _normalize(self, text: str) -> str:
        if text.isascii():
            normal = text.lower() if self.case == "lower" else text
        else:
            normal = unicodedata.normalize(self.form, text)  # type: ignore[arg-type]
            if self.case == "lower":
                normal = unicodedata.normalize(self.form, normal.lower())  # type: ignore[arg-type]
            normal = normal.replace("\u2019", "'")
        return normal

    def _addressed(self, text: str) -> bool:
        """Whether there can be an address in it."""
        return ("email" in self.classes and "@" in text) or ("url" in self.classes and ("://" in text or "www." in text.lower()))

    def _address(self, piece: str) -> str | None:
        bare = piece.strip(_AROUND)
        start = bare[:8].lower()
        if "url" in self.classes and len(bare) > 8 and start.startswith(("http://", "https://", "www.")):
            return "<url>"
        return "<email>" if "email" in self.classes and "@" in bare and _MAIL.fullmatch(bare) else None

    @cached_property
    def _numbered(self) -> bool:
        return "number" in self.classes or "digits" in self.classes

    def _number(self, word: str) -> str:
        if not _NUMBER.fullmatch(word):
            return word
        long = sum(map(str.isdecimal, word)) >= _LONG
        if long and "digits" in self.classes:
            return "<digits>"
        return "<number>" if "number" in self.classes and (not long or "digits" not in self.classes) else word

    @property
    def facts(self) -> dict[str, object]:
        """The rules as JSON."""
        return {"form": self.form, "case": self.case, "classes": list(self.classes)}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Tokenizer:
        """The tokenizer that ``facts`` described."""
        return cls(**facts)  # type: ignore[arg-type]


_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def check_text(text: object) -> str:
    """One document; the refusal says nothing of what it holds."""
    if isinstance(text, (bytes, bytearray)):
        raise ValueRefused("A document is text, and these are bytes; decode them first, as raw.decode('utf-8', 'replace') does.")
    if not isinstance(text, str):
        raise ValueRefused("A document is a text; give a str for every person, '' for one who wrote nothing.")
    if len(text) > MOST_CHARACTERS:
        raise ValueRefused(f"A document has more than {MOST_CHARACTERS:,} characters; cut it before it comes here.")
    return text


@lru_cache(maxsize=2)
def _pattern(*, marked: bool) -> re.Pattern[str]:
    """Numbers and words. Python's ``\\w`` knows letters, digits and the underscore, which is no part of a word; not marks."""
    sign = rf"(?:[^\W_]|[{_marks()}])" if marked else r"[^\W_]"
    return re.compile(rf"\d+(?:[.,:]\d+)*(?!{sign})|{sign}+(?:'{sign}+)*")


def _marked(text: str) -> bool:
    return re.search(f"[{_marks()}]", text) is not None


@lru_cache(maxsize=1)
def _marks() -> str:
    """All marks, which sit on a letter, as ranges of a character class; they lie in a few stretches of Unicode."""
    places = [place for first, end in _MARKED for place in range(first, end) if unicodedata.category(chr(place))[0] == "M"]
    known = set(places)
    starts = [place for place in places if place - 1 not in known]
    ends = [place for place in places if place + 1 not in known]
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(starts, ends, strict=True))
