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

#: Words that ask and act without a subject of their own: they may stand in an answer, and seldom have to.
_WEAK_LISTS = {
    "en": """actually already around big call called come comes coming different do doing done else ever every
        everything exactly find found get gets getting go goes going gone good got ha happen happened happens
        happening keep kind know known last long lot look looking made make makes making many mean much name named need
        needs new next number often ok old one part person plan put really right see seen set show sort start still
        take taken takes taking tell thing things think time times together try two type use used uses using usually
        want wants way ways well went work""",
    "de": """alles bekommen brauche brauchen braucht darf durfen eigentlich etwas finden gehen geht genau gab gehabt
        gemacht geben gibt gehort heisst jemand kam keinem keinen keiner keines kommen kommt lange liegt mache machen
        macht mal mehr nehmen neu neue neuen neuer nutzen oft sagen sagt schon soll sollen sollte stand steht tun viel
        viele wegen wissen wohl wollen beim""",
    "fr": """aller avons besoin bien chose choses combien dire doit dois faire faut fois long longtemps mettre nom
        nombre peu peut prendre savoir souvent toujours tout tous trouver utilise va veut voir""",
    "es": """bien cada cosa cosas cuanta cuantos decir debe dejar hace hacer ir llama llamar lugar mas mismo nombre
        numero poner puede puedo saber siempre tener tiempo usa usar va ver veces vez hay cuesta""",
    "ru": """будет быть больше брать взять время давать делать дело зовут идет иметь иметься кому можно надо найти
        нельзя новыи нужен нужна нужно нужны один около получить потом раз сколько случилось стоит такие такои
        теперь тогда часто чему""",
}
WEAK_WORDS: dict[str, frozenset[str]] = {language: frozenset(words.split()) for language, words in _WEAK_LISTS.items()}
_WEAK_PAIRS_LIST = """
    多少 多久 几点 时候 地方 东西 需要 可以 现在 应该 告诉 知道 一下 哪里 哪个 哪家 由哪 用哪 怎样 如何 是谁 什么
    怎么 为什 发生 生了 何時 時ま いつ どこ どの 何か 何が 誰が どう あり なり 使う 使っ 今ど のく くら らい ます
    した です すか 무엇 어디 언제 누구 얼마 몇시 인가 나요 니까 까요 했나 하나 있나 있었 었나 는가 은가 습니 에서
    으로 하는 하고
"""
#: The same for pairs of characters.
WEAK_PAIRS = frozenset(_WEAK_PAIRS_LIST.split())

#: Characters of Chinese and Japanese that ask or join; a pair of them says nothing about the subject.
PARTICLES = frozenset(
    "的了是在和与有吗呢吧啊呀嘛么什怎哪谁几我你他她它们这那就也都还很要会能可以被把给着过のはがをにでともへやかねよすまたるれいっなだてしさ"
)


def language_of(words: Iterable[str]) -> str | None:
    """The language that most of `words` are function words of, None when none is recognised."""
    present = set(words)
    counts = {language: len(present & listed) for language, listed in STOP_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else None


def stop_words_of(words: Iterable[str]) -> frozenset[str]:
    """The function words of the language that `words` seem to be of."""
    return STOP_WORDS.get(language_of(words) or "", frozenset())
