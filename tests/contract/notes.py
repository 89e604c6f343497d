"""What stands in the corpora of the suite: every fact has words of its own, so that one note alone answers."""

from __future__ import annotations

import unicodedata
from datetime import date, timedelta
from typing import NamedTuple

DEPLOY, TICKETS, PETS, HOUSE, LOG = (f"memory/{name}.md" for name in ("deploy", "tickets", "pets", "house", "log"))
VITAMIN_C, VITAMIN_D = "memory/health-1.md", "memory/health-2.md"
COPIES, WINDOWS = ("memory/copy-1.md", "memory/copy-2.md"), "memory/from-windows.md"
COMPOSED, DECOMPOSED = "memory/accents-1.md", "memory/accents-2.md"

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
ACCENTED = "e\u0301"

#: Two facts on one subject, farther apart than any snippet reaches.
HOUSE_LINES = [f"Room {number} has a window to the yard and a door." for number in range(1, 201)]
HOUSE_LINES[9] = "The wifi password is lemonade."
HOUSE_LINES[179] = "The wifi router stands in the attic."


class Written(NamedTuple):
    """A note in one script, and something that a person looks for in it."""

    script: str
    text: str
    query: str


SCRIPTS = (
    Written("chinese", "明天下午三点开项目评审会议讨论排期", "项目评审"),
    Written("chinese question", "飞书的插件配置放在工具箱里", "飞书插件配置在哪里"),
    Written("chinese character", "家里有一只猫", "猫"),
    Written("mixed run", "昨天重跑gen-itgc后检查报告", "重跑gen-itgc后"),
    Written("identifier in a mixed run", "先停loader-xq再启动", "loader-xq"),
    Written("japanese", "会議は東京タワーで行われました", "東京タワー"),
    Written("korean", "회의는 서울에서 열렸습니다", "서울"),
    Written("thai", "ประชุมโครงการที่กรุงเทพ", "กรุงเทพ"),
    Written("thai inside a run", "ทีมประชุมโครงการใหม่", "โครงการ"),
    Written("russian", "Встреча в Москве была долгой", "где была встреча в москве"),
    Written("russian letters of their own", "Новый чайный район открыт", "чайный"),
    Written("russian without a mark", "Зелёный ковёр чистый", "ковер"),
    Written("arabic", "اجتماع الفريق في القاهرة", "القاهرة"),
    Written("hindi", "बैठक दिल्ली में हुई", "दिल्ली"),
    Written("tamil", "கூட்டம் சென்னையில் நடந்தது", "சென்னையில்"),
    Written("greek", "Η συνάντηση έγινε στην Αθήνα", "Αθήνα"),
    Written("greek without accents", "Το πλοίο φεύγει από τη Θεσσαλονίκη", "θεσσαλονικη"),
    Written("vietnamese", "Cuộc họp diễn ra trên đường Trường Sa", "đường trường"),
    Written("accents", "Das Bäckereicafé in Zürich schließt um acht", "backereicafe zurich"),
    Written("polish", "Spotkanie w kawiarni Żurawia", "zurawia"),
)

#: File names that a person may give, each with a word that stands in no other note.
NAMES = {
    "memory/travel notes 2024.md": "heronstone",
    "memory/Ünïcode-Ноты.md": "storkbridge",
    "memory/笔记 一.md": "egretlamp",
    "memory/a,b {c} [d].md": "ibisgate",
    "memory/#1 plan.md": "cranefield",
    "memory/100% sure? it's (final).md": "ploverhill",
    "memory/deep/er/still/deeper.md": "gullwharf",
}

#: Notes whose names hold what their text does not.
FALCONS = {
    "memory/falcon.md": "Wings were ordered from the workshop.\n",
    "memory/projects/falcon.md": "Engines were ordered from the foundry.\n",
    "memory/projects/falcon-budget.md": "Money was ordered from the bank.\n",
}

PAIR = {
    "MEMORY.md": "The codeword of the harbour is zebracomet.\n",
    "memory/n.md": "Day 1: the weather was fine in the harbour.\n",
}

LIBRARY = {
    "MEMORY.md": "# Facts\n\nThe office opens at nine.\nThe landlord is called Osric.\n",
    DEPLOY: "# Deploys\n\nThe deploy codeword is zebracomet, kept by Ines.\nRollbacks need two people.\n",
    "memory/garden.md": "# Garden\n\nDeploy the hose.\nKeep people off the grass.\nThe cluster of tulips is red.\n",
    TICKETS: (
        "Ticket PIO-1384 was closed on Friday.\nRun apply_secrets after v2026.4.10.\n"
        "The file is /etc/foo.conf, its owner alice@example.com.\n"
    ),
    "memory/parcels.md": (
        "PIO sent 1384 parcels, PIO got 1385, PIO-1385 and PIO-13840 are lost.\nApply for it, keep secrets.\n"
        "From v2026.4.1 to v2026.4.100.\nThe file foo.conf, the file /etc/hosts.\nMail bob@example.com or alice.\n"
    ),
    PETS: "I keep three parakeets and one hamster.\n",
    VITAMIN_C: "Vitamin C helps.\n",
    VITAMIN_D: "Vitamin D helps, too.\n",
    COMPOSED: unicodedata.normalize("NFC", "Très fatigué après Épernay\n"),
    DECOMPOSED: unicodedata.normalize("NFD", "Le château de Châlons est fermé\n"),
    **dict.fromkeys(COPIES, "The spoonbill nests on the roof.\n"),
    WINDOWS: "\ufeffFirst line.\r\nThe avocet wades.\r\nLast line.\r\n",
    HOUSE: "\n".join(HOUSE_LINES) + "\n",
    "memory/plain-log.md": f"{FAMILY * 300} pulsarcrab {'rain ' * 600}\n",
    LOG: f"Before.\n{FAMILY * 300} quasarfish {ACCENTED * 1000}\nAfter.\n",
    **{f"memory/script-{number}.md": written.text + "\n" for number, written in enumerate(SCRIPTS)},
    **{name: f"The {word} hides a spare key.\n" for name, word in NAMES.items()},
    **FALCONS,
    **{f"memory/day-{number}.md": f"Day {number}: rain in the morning, soup at noon.\n" for number in range(40)},
}

FIRST_DAY = date(2025, 1, 1)
DAYS = [FIRST_DAY + timedelta(days=number) for number in range(270)]


def _daily_note(number: int, day: date) -> str:
    """Notes of many lengths, so that the shortest, which engines like, are not always those that answer best."""
    subject = "A glider meeting was held." if number % 3 == 0 else "The meeting was on gliders."
    return f"# {day:%A}\n\n{subject}\n{'It rained. ' * (number % 13)}\n"


#: Some three hundred files on one subject, as a year of daily notes is, and conversations beside them.
ARCHIVE = PAIR | {f"memory/{day}.md": _daily_note(number, day) for number, day in enumerate(DAYS)}
CONVERSATIONS = {f"s{number}.md": f"User: glider number {number}?\nAgent: it is in repair.\n" for number in range(30)}

#: A word, and the name of the one note that holds it. Some names are what others would become if they were decoded.
ODD_NAMES = {
    "falconlamp": "with two  spaces.md",
    "heronlamp": "#tag.md",
    "storklamp": "50% off.md",
    "egretlamp": "what?.md",
    "ibislamp": "a?index=b.md",
    "cranelamp": "nfc/caf\u00e9.md",
    "ravenlamp": "nfd/cafe\u0301.md",
    "finchlamp": "🦜 parrots.md",
    "robinlamp": "[draft] {a,b}*.md",
    "wrenlamp": f"{'long ' * 40}name.md",
    "larklamp": "-rf.md",
    "swiftlamp": "at 12:30.md",
    "ternlamp": "notes.md#L2.md",
    "gooselamp": 'it\'s "quoted".md',
    "ducklamp": "&;$(id)`id`.md",
    "swanlamp": "日本/メモ.md",
    "ospreylamp": " leading space.md",
    "kitelamp": "%41.md",
    "hawklamp": "A.md",
    "owllamp": "my_file.md",
    "jaylamp": "my-file.md",
    "cootlamp": "my file.md",
    "raillamp": "CamelCase.Name.md",
    "smewlamp": "qmd/custom-1/x.md",
    "ploverlamp": "two\nlines.md",
    "dunlinlamp": "tab\there.md",
}
