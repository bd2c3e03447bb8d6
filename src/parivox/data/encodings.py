"""What a text that is not Unicode is written in: told where its words can be read in one way only.

A reading is judged by rules of spelling, not by how often letters occur: a table of a few names has
too few of them. Words use one script, capitals stand where capitals do, the accents of a word
are those of one language. Looked for are the encodings in which Windows and Excel save text.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_WESTERN = (
    "àâæçéèêëîïôœùûüÿ", "áéíñóúüï", "àçèéíïòóúü", "àáâãçéêíóôõúü", "äöüßéèà", "àèéìíîòóùú",
    "áéèëíïóöúüê", "æøåéèòôóüäö", "åäöéüàè", "åäöšž", "áéíóúýæðöþ", "áðíóúýæø",
)  # fmt: skip
_CENTRAL = ("áčďéěíňóřšťúůýž", "áäčďéíľňóôšťúýž", "ąćęłńóśźż", "áéíóöőúüű", "ăâîşţ", "čćđšž")
_RUSSIAN = "абвгдежзийклмнопрстуфхцчшщъыьэюя"
_CYRILLIC = tuple(_RUSSIAN + more for more in ("ё", "іїєґ", "ёіў", "јљњђћџ", "јљњќѓѕџ"))
_GREEK = "αβγδεζηθικλμνξοπρστυφχψωςάέήίόύώϊϋ"
_HEBREW = "אבגדהוזחטיכלמנסעפצקרשתךםןףץ"
_SIMPLIFIED = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶"
    "余潘杜戴夏钟汪田任姜范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚"
    "文伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂英华玉兰红建国春梅海燕志小云天男女性别中东南西北京上"
    "广州人民大子是否年岁姓名语"
)
_TRADITIONAL = (
    "王李張劉陳楊趙黃周吳徐孫胡朱高林何郭馬羅梁宋鄭謝韓唐馮于董蕭程曹袁鄧許傅沈曾彭呂蘇盧蔣蔡賈丁魏薛葉"
    "余潘杜戴夏鍾汪田任姜范方石姚譚廖鄒熊金陸郝孔白崔康毛邱秦江史顧侯邵孟龍萬段雷錢湯尹黎易常武喬賀賴龔"
    "文偉芳娜敏靜麗強磊軍洋勇豔傑娟濤明超秀霞平剛桂英華玉蘭紅建國春梅海燕志小雲天美惠淑雅婷怡君家豪男女"
    "性別中東南西北台灣上人民大子是否年歲姓名語"
)
_JAPANESE = (
    "佐藤鈴木高橋田中伊渡辺山本村小林加吉井上松斎清野池崎阿部森石川前後岡長谷島原和久青西福太三浦近内坂安"
    "遠平大今河武竹丸金子一郎次男女美恵真由香裕健翔誠明正東京都県性別人日語氏名年"
)
_KOREAN = (
    "김이박최정강조윤장임한오서신권황안송전홍유고문양손배백허남심노하곽성차주우구민진지준호영수현연은미경희선"
    "숙자철상동인용재태원규녀여별울부산대국름나"
)


@dataclass(frozen=True)
class _Encoding:
    """One in which text may be saved, and how it is known."""

    script: str  # of its words, as names of characters begin
    alphabets: tuple[str, ...] = ()  # letters beyond ASCII of a language each
    common: str = ""  # characters that most names hold one of, where there are thousands
    within: str = ""  # the encoding that holds those in use


ENCODINGS = {
    "cp1252": _Encoding("LATIN", _WESTERN),
    "cp1250": _Encoding("LATIN", (*_CENTRAL, "äöüßé", "çë")),
    "cp1254": _Encoding("LATIN", ("âçğıîöşüû", *_WESTERN)),
    "mac_roman": _Encoding("LATIN", _WESTERN),
    "cp1251": _Encoding("CYRILLIC", _CYRILLIC),
    "cp1253": _Encoding("GREEK", (_GREEK,)),
    "cp1255": _Encoding("HEBREW", (_HEBREW,)),
    "gbk": _Encoding("CJK", common=_SIMPLIFIED, within="gb2312"),
    "cp950": _Encoding("CJK", common=_TRADITIONAL),
    "cp932": _Encoding("JAPANESE", common=_JAPANESE),
    "euc_jp": _Encoding("JAPANESE", common=_JAPANESE),
    "cp949": _Encoding("HANGUL", common=_KOREAN, within="euc_kr"),
}
"""The encodings that are looked for, the likeliest first, by the names that Python has for them."""

_MAX_WORDS = 20_000
"""Different words of a file that are judged."""
_MAX_ODD_SHARE = 0.1
"""Share of words that may be misspelt in a reading that is plausible."""
_RULED_OUT_SHARE = 0.2
"""Share of the words in which two readings differ that must be odd in one alone to rule it out."""
_LIKELIEST_ENCODING = next(iter(ENCODINGS))
"""By far the most frequent: one odd word rules out another encoding, of which else it takes two."""
# The second byte of a character is no control character, no blank, no digit and no comma.
_WORD = re.compile(rb"[\x40-\xff]*[\x80-\xff][\x40-\xff]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_SIGNS = frozenset("’‘“”„‚–—…«»‹›´°€©®™§、。・「」（）：，　\xa0")
_SIGNS_WITHIN_WORDS = frozenset("’´–・")
"""Signs that may stand between letters."""
_BASE_LETTERS = dict(zip("øæœłđðþßıåİ", "oaolddtsiai", strict=True))
_VOWELS = frozenset("aeiouy")
_IMPOSSIBLE_SPELLING = re.compile(
    "ñ(?![aeiouáéíóú])|ń[aeiouyó]|ã(?![oeis]|$)|õ(?!e)|ă[oe]|ő[eo]|(?<![aeıioöuü])ğ|[aeiouyöü]þ"
    "|ς(?!$)|[βγδζθκλμξπστφχψ]$|^[α-ω]{4,}$|[ךםןףץ](?!$)"
    "|[бвгджзклмнпрстфхцчшщ]й|^[бвгджзйклмнпрстфхцчшщ]{3,}$"
)
"""What no language with these letters writes."""
_JAPANESE_SCRIPTS = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"}
_NASAL = re.compile("ã[oe]|õe")


@dataclass
class NonAsciiWords:
    """The words of a text that contain bytes beyond ASCII, each once, in order."""

    words: dict[bytes, None] = field(default_factory=dict)

    def add(self, line: bytes) -> None:
        """Take in a line, or several."""
        if len(self.words) < _MAX_WORDS:
            self.words.update(dict.fromkeys(_WORD.findall(line)))

    def readings(self) -> dict[str, str]:
        """Encodings in which the text may be, with a word as each of them reads it.

        Of those that read all words alike the first represents all. The word is one in which
        readings differ, if any does.
        """
        words = list(self.words)
        plausible = [
            reading for name in ENCODINGS if (reading := _decoded_words(name, words)) is not None
        ]
        if not plausible:
            return {}
        best = min(plausible, key=lambda reading: sum(reading.odd))
        distinct: dict[tuple[str, ...], _DecodedWords] = {best.texts: best}
        for reading in plausible:
            distinct.setdefault(reading.texts, reading)
        remaining = [
            reading
            for reading in distinct.values()
            if reading is best or not reading.is_ruled_out_by(best)
        ]
        shown = remaining if len(remaining) > 1 else list(distinct.values())
        columns = list(zip(*(reading.texts for reading in shown), strict=True))
        column = max(range(len(columns)), key=lambda i: len(set(columns[i])))
        return {reading.name: reading.texts[column] for reading in remaining}


@dataclass(frozen=True)
class _DecodedWords:
    """Words as one encoding has them, and which of them are odd."""

    name: str
    texts: tuple[str, ...]
    odd: tuple[bool, ...]

    def is_ruled_out_by(self, best: _DecodedWords) -> bool:
        """Whether words that the two read differently are odd in this reading alone."""
        word_pairs = zip(self.texts, best.texts, self.odd, best.odd, strict=True)
        differ = [
            is_odd - is_odd_in_best
            for word, best_word, is_odd, is_odd_in_best in word_pairs
            if word != best_word
        ]
        min_odd_words = 1 if best.name == _LIKELIEST_ENCODING else 2
        return sum(differ) >= max(min_odd_words, _RULED_OUT_SHARE * len(differ))


def _decoded_words(name: str, words: Iterable[bytes]) -> _DecodedWords | None:
    """The words in an encoding; None where that makes no words of them."""
    try:
        texts = tuple(word.decode(name) for word in words)
    except UnicodeDecodeError:
        return None
    encoding = ENCODINGS[name]
    is_wrong = [_is_impossible(text, encoding) for text in texts]
    if sum(is_wrong) > _MAX_ODD_SHARE * len(is_wrong):
        return None
    return _DecodedWords(
        name,
        texts,
        tuple(
            is_wrong_word or _is_unlikely(decoded, encoding)
            for is_wrong_word, decoded in zip(is_wrong, texts, strict=True)
        ),
    )


def _is_impossible(text: str, encoding: _Encoding) -> bool:
    """Whether no language that is written in an encoding has such a word."""
    text = text.rstrip("ªº").replace("l·l", "ll")
    for position, sign in enumerate(text):
        is_within = (
            text[position - 1 : position].isalpha() and text[position + 1 : position + 2].isalpha()
        )
        is_sign = sign > "\x7f" and not sign.isalpha()
        if is_sign and (sign not in _SIGNS or (is_within and sign not in _SIGNS_WITHIN_WORDS)):
            return True
    return any(_is_no_word(word, encoding) for word in _LETTERS.findall(text))


def _is_no_word(word: str, encoding: _Encoding) -> bool:
    non_ascii = [letter for letter in word if letter > "\x7f"]
    if not non_ascii:
        return False
    scripts = {_script(letter) for letter in word}
    if encoding.common:
        japanese_scripts = _JAPANESE_SCRIPTS if encoding.script == "JAPANESE" else set()
        if not scripts <= (japanese_scripts or {encoding.script}) or any(
            "ㄱ" <= letter_ <= "ㆎ" for letter_ in word
        ):
            return True
        return bool(encoding.within) and not _is_encodable(word, encoding.within)
    if scripts != {encoding.script} or _has_odd_capitals(word):
        return True
    used_letters = {_lower_letter(letter) for letter in non_ascii}
    if not any(used_letters <= set(alphabet) for alphabet in encoding.alphabets):
        return True
    return encoding.script == "LATIN" and len(non_ascii) > max(3, len(word) / 2)


def _is_unlikely(text: str, encoding: _Encoding) -> bool:
    """Whether a word is unlikely: by its sounds, signs next to letters, or no common character."""
    words = _LETTERS.findall(text)
    if words and any(sign in _SIGNS and sign not in "’´" for sign in text):
        return True
    if encoding.common:
        return any(
            all(_script(letter) == "CJK" or letter >= "가" for letter in word)
            and not set(word) & set(encoding.common)
            for word in words
        )
    lower = ["".join(map(_lower_letter, word)) for word in words]
    return any(
        _IMPOSSIBLE_SPELLING.search(word)
        or (encoding.script == "LATIN" and _has_misplaced_accent(word))
        for word in lower
    )


def _has_misplaced_accent(word: str) -> bool:
    """Whether a letter with an accent stands between vowels as a vowel, or consonants as one.

    Examples
    --------
    >>> [_has_misplaced_accent(word) for word in ("hélène", "hélčne", "jiří", "jiøí", "niccolň")]
    [False, True, False, True, True]
    """
    word = _NASAL.sub("an", word)
    is_vowel = [_base_letter(letter) in _VOWELS for letter in word]
    for position, letter in enumerate(word):
        neighbours = [is_vowel[i] for i in (position - 1, position + 1) if 0 <= i < len(word)]
        is_alone = not position or (is_vowel[position] and len(neighbours) < 2)
        if letter > "\x7f" and not is_alone and {*neighbours} == {is_vowel[position]}:
            return True
    return False


def _has_odd_capitals(word: str) -> bool:
    """Whether a letter beyond ASCII is a capital within a word, or small among capitals."""
    for position, letter in enumerate(word):
        previous, following = (
            word[position - 1 : position] if position else "",
            word[position + 1 : position + 2],
        )
        if letter <= "\x7f" and (not previous or previous <= "\x7f"):
            continue
        if letter.isupper() and previous.islower():
            return True
        if letter.islower() and previous.isupper() and (position > 1 or following.isupper()):
            return True
    return False


def _lower_letter(letter: str) -> str:
    return "ı" if letter == "İ" else letter.lower()


@lru_cache(maxsize=1024)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "?").split()[0]


@lru_cache(maxsize=1024)
def _base_letter(letter: str) -> str:
    return _BASE_LETTERS.get(letter) or unicodedata.normalize("NFD", letter)[0]


def _is_encodable(word: str, encoding: str) -> bool:
    try:
        word.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


_NO_TEXT_CODECS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"}


def python_encoding(name: str) -> str:
    """An encoding of text as Python calls it, whatever of its names is given.

    Examples
    --------
    >>> python_encoding("Windows-1250"), python_encoding("GB2312"), python_encoding("Shift-JIS")
    ('cp1250', 'gb2312', 'shift_jis')
    """
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)  # which codecs of bytes refuse
    except (LookupError, ValueError, TypeError, UnicodeError):
        codec = None
    if codec is None or codec.name in _NO_TEXT_CODECS:
        msg = f"--encoding {name!r} is not a text encoding that Python supports"
        hint = f"give a name such as {', '.join(list(ENCODINGS)[:2])}, gbk or utf-8"
        raise ConfigError(msg, hint)
    return codec.name
