"""What made sessions say: words that all have, as often as words are, and names that only one has."""

# Letters of other scripts look like Latin ones; that is what they are here for.
# ruff: noqa: RUF001

import itertools
import random
from dataclasses import dataclass, field
from functools import cache
from typing import Final


def listed(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


# The first of these are in nearly every session; made words follow them.
FREQUENT: Final = listed(
    "the parser cache test to and of in error file is a for build that with router token buffer index retry "
    "schema config function return value from not when after before line call session entry branch commit "
    "should fix run check type string null option handler request response client server module import "
    "export async await lock queue worker thread stream chunk byte read write close open path folder"
)
WORD_COUNT: Final = 8_000
_SYLLABLES: Final = listed("ba de fi go lu ma ne pi ro su ta ve wi xo ya zu cor der fen gal hin jas kel lom")
_ENDINGS: Final = listed("er ing ed ion al ity ness s ly or")

_VERBS: Final = listed("get set load save parse flush merge split retry queue index scan build emit read")
_NOUNS: Final = listed(
    "Shard Router Cache Token Buffer Schema Ledger Quota Entry Branch Cursor Window Frame Packet Record "
    "Stamp Digest Bucket Lease Ticket Vector Column Parcel Socket Worker"
)
_FOLDERS: Final = ("src/app", "src/app/store", "tests/unit", "docs", "packages/ui/src", "scripts", "lib/core")
_ENDS: Final = ("ts", "ts", "py", "rs", "md", "json", "tsx")

_GERMAN: Final = [
    left + right
    for left in listed("Größen Änderungs Übergabe Schlüssel Speicher Puffer Prüf Rück Lösch Zähler Straßen")
    for right in listed("wert größe prüfung fehler übersicht schlüssel lauf stände maß länge öffnung")
]
_RUSSIAN: Final = [
    stem + end
    for stem in listed("данн памят ошибк файл строк сессия поиск индекс слов запрос ответ ключ буфер")
    for end in listed("а ы ой ами ах ов е ом")
]
_CHINESE: Final = (
    "内存索引会话文件错误测试缓存路由解析令牌缓冲重试模式配置函数返回数值以后之前提交分支线程队列读写"
)
_SIGNS: Final = ("—", "→", "✓", "🚀", "’", "…", "⚠️")
# Of sentences with a sign that is no ASCII, as models write them, and of lines that tools print.
_SIGN_SHARE, _PRINTED_SIGN_SHARE = 0.15, 0.005
# Of sessions; only what is said is in another language, not what tools print.
_LANGUAGES: Final = ("en",) * 17 + ("de", "zh", "ru")


@cache
def _common() -> tuple[list[str], list[float]]:
    """Words and their summed weights: the word of rank n is as frequent as Zipf says."""
    chance = random.Random("words")
    words = dict.fromkeys(FREQUENT)
    while len(words) < WORD_COUNT:
        stem = "".join(chance.choices(_SYLLABLES, k=chance.randint(2, 3)))
        words[stem + chance.choice(_ENDINGS)] = None
    return list(words), list(itertools.accumulate(1 / (rank + 2) for rank in range(WORD_COUNT)))


@dataclass(slots=True)
class Voice:
    """Texts of one session."""

    chance: random.Random
    name_count: int
    """Names that the session has of its own; it uses the first of them most."""
    language: str = field(init=False)
    _names: list[str] = field(init=False)
    _paths: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.language = self.chance.choice(_LANGUAGES)
        self._names = [self._new_name() for _ in range(self.name_count)]
        self._paths = [self._new_path() for _ in range(self.name_count // 3 + 1)]

    def prose(self, fewest: int, most: int) -> str:
        """A sentence of so many words."""
        chance, count = self.chance, self.chance.randint(fewest, most)
        if self.language != "en" and chance.random() < 0.5:
            return self._foreign(count)
        said = self._english(count)
        for _ in range(count // 16):
            said[chance.randrange(count)] = self.name()
        if chance.random() < _SIGN_SHARE:
            said[chance.randrange(count)] = chance.choice(_SIGNS)
        return " ".join(said).capitalize() + "."

    def name(self) -> str:
        """An identifier."""
        return self._names[int(self.chance.random() ** 2 * len(self._names))]

    def path(self) -> str:
        """A path of a file."""
        return self._paths[int(self.chance.random() ** 2 * len(self._paths))]

    def hexadecimal(self, digits: int) -> str:
        """A number as hashes and ids are written."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}x}"

    def output(self, lines: int) -> str:
        """What a tool prints."""
        line = self.chance.choice((self._match, self._code, self._code, self._commit, self._passed))
        return "\n".join(line() for _ in range(lines))

    def _english(self, count: int) -> list[str]:
        words, weights = _common()
        return self.chance.choices(words, cum_weights=weights, k=count)

    def _printed(self, fewest: int, most: int) -> str:
        """Words of a tool, which speaks English whoever uses it, and a sign now and then."""
        said = " ".join(self._english(self.chance.randint(fewest, most)))
        return said if self.chance.random() > _PRINTED_SIGN_SHARE else f"{self.chance.choice(_SIGNS)} {said}"

    def _match(self) -> str:
        return f"{self.path()}:{self._number()}: {self.name()}({self.name()}) {self._printed(2, 8)}"

    def _code(self) -> str:
        names = [self.name() for _ in range(3)]
        return f"    const {names[0]} = await {names[1]}({names[2]}, {self._printed(1, 4)!r});"

    def _commit(self) -> str:
        return f"{self.hexadecimal(7)} {self._printed(4, 9)}"

    def _passed(self) -> str:
        return f"  PASS {self.path()} {self._printed(3, 7)} ({self._number()} ms)"

    def _number(self) -> int:
        return int(self.chance.paretovariate(0.5)) % 100_000

    def _foreign(self, count: int) -> str:
        if self.language == "zh":
            # No blanks between words: a clause is one word to a tokenizer.
            clauses = ("".join(self.chance.choices(_CHINESE, k=6)) for _ in range(count // 4 + 1))
            return "，".join(clauses) + "。"
        return " ".join(self.chance.choices(_GERMAN if self.language == "de" else _RUSSIAN, k=count))

    def _new_name(self) -> str:
        chance = self.chance
        name = chance.choice(_VERBS) + chance.choice(_NOUNS) + chance.choice(_NOUNS)
        return f"{name}{chance.randrange(10_000)}" if chance.random() < 0.6 else name

    def _new_path(self) -> str:
        chance = self.chance
        base = f"{chance.choice(_NOUNS).lower()}-{chance.choice(_common()[0])}{chance.randrange(100)}"
        return f"{chance.choice(_FOLDERS)}/{base}.{chance.choice(_ENDS)}"
