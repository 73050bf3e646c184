"""Telling which language a text is in, by its script and its commonest words. Nothing is loaded.

It knows a few languages and says nothing where it cannot tell: a text that is too short, that lies
between two of them, or that is in one it does not know.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from polyvox.evaluation.count import without_code

FEWEST = 6
"""Words of a text that is long enough to tell by its words."""
ENOUGH = 0.14
"""Share of a text's words that must be common ones of its language. In our test sentences the right
language has 0.25 to 0.6, any other at most 0.12, but for near relatives."""
CLEAR = 1.25
"""How much better than the second one the first must fit."""
_SCRIPT = 0.6

NAMES = {
    "ar": "Arabic", "bg": "Bulgarian", "cs": "Czech", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese",
    "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai", "tr": "Turkish",
    "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip

_COMMON = {
    "cs": "a aby ale by být co do ho i jak jako je jeho jen jsem jsou k když ke která které který"
    " může na nebo než není od po pokud pro protože při s se si ten to tak tím u v více ve vám ze"
    " že už jste",
    "da": "af alle at blev blive da de den denne der det dig din du eller en er et for fordi"
    " fra få ham han har hun hvad hvis hvor i ikke jeg jer kan man med men mere mig må ned nogen"
    " noget nu når og også om op på selv sig skal som til ud ud var ved vi vil være",
    "de": "aber als am an auch auf aus bei bevor bin bist da dann das dass dein dem den der des"
    " dich die dir du durch ein eine einen einer er es für haben hat ich ihm ihn ihr im in ist kann"
    " können man mehr mein mich mit nach nicht noch nur oder sein sich sie sind so über um und uns"
    " von vor war was wenn wer wie wir wird zu zum zur",
    "en": "a about all an and are as at be been but by can could do does for from had has have he"
    " her his how if in into is it its just more my not of on one or our out she should so some"
    " than that the their them then there these they this to up was we were what when which who"
    " will with would you your",
    "es": "a al algo como con cuando de del desde donde el ella ellos en entre era es esta este"
    " esto está fue ha hay la las le les lo los me mi mucho muy más ni no nos o para pero por"
    " porque puede que qué se ser si sin sobre son su sus también te tiene tu un una uno y ya yo",
    "fi": "ei ehkä en että hän ja jos joka jotka kaikki kanssa kuin kun me mikä minä mitä mukaan"
    " mutta myös ne niin nyt näin oli olla ole olen on ovat pitää se sen siitä sinä sinun tai"
    " tämä tämän vai vain voi voit vielä ilman hyvin ennen",
    "fr": "à au aussi aux avec bien car ce cela ces cette comme dans de des dont du elle en est et"
    " être eu fait faut ici il ils je la le les leur lui mais me même moi mon ne nous on ont ou où"
    " par pas peut plus pour qu que qui sa sans se si son sont sur te tout très tu un une vos"
    " votre vous",
    "hu": "a az azt csak de egy ez ezt ha hogy hogyan is itt ki kell lehet lesz maga mert meg mi"
    " mint minden még most nagyon nem nincs nélkül s sem szerint úgy vagy vagyok van volt után"
    " által amely aki amit önnek",
    "it": "a al alla anche che chi ci come con cosa da dal dei del della delle di e è ed era essere"
    " fa gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mia mio molto ne nel nella non"
    " o per perché più può quando questa questo se sei si sia sono sua suo tra tu tuo un una uno"
    " vi",
    "nl": "aan al alle als bij dan dat de deze die dit door een en er geen haar heb hebben heeft"
    " het hij hoe hun ik in is je jij kan kunnen maar meer men met mij moet na naar niet nog nu of"
    " om omdat onder ook op over te tegen tot u uit uw van veel voor waar wat we wel wij wordt zal"
    " ze zich zij zijn zo",
    "no": "alle at av bare ble bli da de deg den denne der det din du eller en enn er et for fordi"
    " fra få han har hun hva hvis hvor hvordan i ikke jeg kan man med meg men mer må noe noen nå"
    " når og også om opp på seg selv skal som så til ut ved vi vil være",
    "pl": "a aby albo ale bardzo bo by być co czy dla do go i ich ile jak jako je jego jej jest"
    " jeśli już kiedy która które który lub ma mnie może na nad nawet nie niż o od oraz po pod"
    " przez przy się są sobie ta tak także tego ten to tu tylko tym w we więc z za ze że",
    "pt": "a ao aos as até com como da das de do dos e é ela ele eles em entre era essa esse esta"
    " este está eu foi há isso isto já lhe mais mas me mesmo meu minha muito na não nas no nos o"
    " ou os para pela pelo por porque pode quando que quem se seja sem ser seu seus só sua são"
    " também te tem ter tu um uma você",
    "ro": "a acest această ai al ale am are au aș care ce cea cei cu când cum da dacă dar de decât"
    " despre din după e ea ei el este eu fi fie fost în îl își la le lui mai mult nu o orice pe"
    " pentru prin sa sau se sunt și te tu un una unei unui va vă",
    "sv": "alla att av bara blev bli den denna det dig din du där efter eller en enligt ett finns"
    " från för få han har hon hur i icke inte jag kan man med men mer mig mot mycket måste ni"
    " nog nu när någon något och också om på sedan sig ska skall som så till under upp ut vad var"
    " vi vid vill är än",
    "tr": "ama ancak aynı bazı ben bile bir biz bu bunu çok çünkü da daha de değil en gibi göre"
    " hem hep her hiç için ile ise kadar kendi ki mi mı mu ne neden nasıl o olan olarak oldu"
    " olduğu onu sen siz sonra şey şu var ve veya ya yani yok",
}
"""Our own short lists of the words that a language cannot do without."""

_BY_LETTER = {"uk": "іїєґ", "ru": "ыэё"}
_CYRILLIC = {
    "bg": "на да се за от си са че ще не по това който като със във или най",
    "ru": "и в не на что я с он как это но по из у за так же вы бы если мы или",
}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LISTS = {code: frozenset(text.split()) for code, text in _COMMON.items()}
_SHARED = Counter(word for words in _LISTS.values() for word in words)


def detected(text: str) -> str | None:
    """The language's ISO code, or None where it cannot be told."""
    text = unicodedata.normalize("NFC", without_code(text))
    letters = [char for char in text if char.isalpha()]
    if len(letters) < 4:
        return None
    scripts = Counter(_script(char) for char in letters)
    if scripts["kana"] >= 0.05 * len(letters) and scripts["kana"] + scripts["han"] > _SCRIPT * len(
        letters
    ):
        return "ja"
    script, count = scripts.most_common(1)[0]
    if count < _SCRIPT * len(letters):
        return None
    if script == "latin":
        return _latin(text)
    if script == "cyrillic":
        return _cyrillic(text)
    return {"han": "zh"}.get(script, script) if script in _ALONE else None


_ALONE = {"han", "ko", "el", "he", "ar", "hi", "th"}
_RANGES = (
    (0x0000, 0x024F, "latin"), (0x1E00, 0x1EFF, "latin"), (0x0370, 0x03FF, "el"),
    (0x0400, 0x052F, "cyrillic"), (0x0590, 0x05FF, "he"), (0x0600, 0x06FF, "ar"),
    (0x0900, 0x097F, "hi"), (0x0E00, 0x0E7F, "th"), (0x3040, 0x30FF, "kana"),
    (0x3400, 0x4DBF, "han"), (0x4E00, 0x9FFF, "han"), (0xAC00, 0xD7AF, "ko"),
    (0x1F00, 0x1FFF, "el"),
)  # fmt: skip


def _script(char: str) -> str:
    code = ord(char)
    return next((name for low, high, name in _RANGES if low <= code <= high), "other")


def _latin(text: str) -> str | None:
    words = [word.casefold() for word in _WORD.findall(text)]
    words = [part for word in words for part in re.split("['’]", word)]
    if len(words) < FEWEST:
        return None
    counted = Counter(words)
    # A word that several languages have says less for each of them.
    scores = {
        code: sum(n / _SHARED[word] ** 0.5 for word, n in counted.items() if word in known)
        for code, known in _LISTS.items()
    }
    (best, most), (_, second) = Counter(scores).most_common(2)
    if most < ENOUGH * len(words) or most < CLEAR * second:
        return None
    return best


def _cyrillic(text: str) -> str | None:
    low = text.casefold()
    if any(char in low for char in _BY_LETTER["uk"]):
        return "uk"
    if any(char in low for char in _BY_LETTER["ru"]):
        return "ru"
    words = _WORD.findall(low)
    if len(words) < FEWEST:
        return None
    found = {code: sum(one in known.split() for one in words) for code, known in _CYRILLIC.items()}
    (best, most), (_, second) = Counter(found).most_common(2)
    return best if most > second else None
