"""Words that carry grammar and no subject, per language, as they look after `tokens.normalize`.

Only the list of the language that a query seems to be written in is applied: "hat" is a German
auxiliary and an English thing to wear.
"""

from __future__ import annotations

from collections.abc import Iterable

_LISTS = {
    "en": """a about after again all also am an and any anyone anything are aren as at be because been before being but
        by can cannot could couldn d did didn do does doesn doing don each ever few find for from further get give had
        hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
        just let ll m may me might more most must my myself no nor not now of on once only or other our ours
        ourselves out over own please re s same say said shall she should show so some such t tell than that the their
        theirs them themselves then there these they this those through to too under until up us ve very was wasn we
        were weren what when where which while who whom whose why will with won would wouldn you your yours yourself""",
    "de": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den denn der
        des dich die dies diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es
        euch euer fur haben habe hat hatte hier hin ich ihm ihn ihr ihre im in ins ist ja jede jeder jetzt kann kein
        keine konnen man mein meine mich mir mit muss nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so
        soll um und uns unser unter vom von vor wann war waren warum was weil welche welcher welches wem wen wenn wer
        werden wie wieder wir wird wo wurde zu zum zur""",
    "fr": """a ai ainsi alors au aucun aussi autre aux avait avec avoir c ce cela ces cet cette ceux chez ci comme
        comment d dans de des donc dont du elle elles en est et etait ete etre eu fait il ils j je l la le les leur
        leurs lui m ma mais me meme mes mon n ne nos notre nous on ont ou par pas peut plus pour pourquoi qu quand que
        quel quelle quelles quels qui quoi s sa sans se ses si son sont sur t ta te tes toi ton tu un une vos votre
        vous y""",
    "es": """a al algo ante como con cual cuales cuando cuanto de del desde donde dos e el ella ellas ellos en entre
        era es esa ese eso esta estaba estan estas este esto estos fue ha hasta hay la las le les lo los mas me mi mis
        mucho muy nada ni no nos nosotros o otra otro para pero por porque que quien quienes se ser si sin sobre son
        su sus tambien te tiene todo tu tus un una uno unos y ya yo""",
    "it": """a ai al alla alle allo anche che chi ci come con cosa cui da dal dalla de dei del della delle dello di dove
        e ed era gli ha hai hanno ho i il in io la le lei li lo loro lui ma mi mia mio ne nei nel nella noi non o per
        perche piu quale quali quando quanto quella quello questa questo se sei si sia sono su sua suo sul sulla ti tra
        tu un una uno vi voi""",
    "pt": """a ao aos as com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta este eu foi
        ha isso isto ja la mais mas me meu minha muito na nas nao nem no nos o onde os ou para pela pelo por porque
        qual quando quanto que quem se ser seu sua sao sem so tambem te tem um uma voce""",
    "nl": """aan als bij daar dan dat de deze die dit door een en er had heb hebben heeft hem het hij hoe hun ik in is
        je kan maar me mee met mijn naar niet nog nu of om omdat onder ons ook op over te tot uit van veel voor waar
        waarom wanneer was wat we wel welke werd wie wij wordt ze zich zij zijn zo zou""",
    "ru": """а без бы был была были было быть в вам вас вот все всех вы где да для до его ее если есть еще же за здесь
        и из или им их к как какая какие какои ко когда кого кто ли мне мои мои моя мы на над нам нас не него нет ни но
        о об он она они оно от по под почему при с со так там то тоже только ты у уже чего чем что чтобы эта эти это
        этот я""",
    "ar": """في من على الى إلى عن مع هذا هذه ذلك التي الذي ما ماذا متى أين كيف لماذا هل هو هي هم انا أنا نحن كان كانت
        و أو ثم لا لم لن قد كل""",
}
STOP_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _LISTS.items()}

#: Characters of Chinese and Japanese that ask or join; a pair of them says nothing about the subject.
PARTICLES = frozenset(
    "的了是在和与有吗呢吧啊呀嘛么什怎哪谁几我你他她它们这那就也都还很要会能可以被把给着过のはがをにでともへやかねよすまたるれいっなだてしさ"
)


def stop_words_of(words: Iterable[str]) -> frozenset[str]:
    """The list of the language that most of `words` are function words of; empty when none is recognised."""
    present = set(words)
    counts = {language: len(present & listed) for language, listed in STOP_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return STOP_WORDS[best] if counts[best] else frozenset()
