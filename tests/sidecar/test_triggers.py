"""What a message brings to mind: strong matches of curated entries, few and short, and nothing for those outside."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from backends.base import BackendStatus
from backends.corpus import split_lines
from sidecar.agents import Agent
from sidecar.config import load
from sidecar.config.roots import resolve_corpus
from sidecar.tools.reading import locate, read
from sidecar.tools.triggers import MAX_ANNOTATED, MAX_BYTES, MAX_CHARS, TriggersRequest, recall, recalled_by
from tests.running import Running, running

DIRECT = "agent:main:telegram:direct:1"


class Unasked:
    """An engine that nobody may ask."""

    def status(self) -> BackendStatus:
        """Ready."""
        return BackendStatus(backend="builtin", ready=True)

    async def search(self, query: Any) -> Any:
        """Fail."""
        raise AssertionError("an engine was asked")

    async def sync(self, request: Any) -> Any:
        """Fail."""
        raise AssertionError("an engine was synced")

    async def close(self) -> None:
        """Nothing to close."""


class Home:
    """An agent with a workspace, asked without a daemon."""

    def __init__(self, folder: Path, config: str = "{}") -> None:
        self.workspace = folder / ".openclaw" / "workspace"
        self.workspace.mkdir(parents=True)
        file = folder / "config.json5"
        file.write_text(config, encoding="utf-8")
        self.settings = load(file, environ={"HOME": str(folder)}, state_dir=folder / "state")
        self.corpus, _ = resolve_corpus(self.settings, self.settings.agents["main"])

    def write(self, text: str, name: str = "MEMORY.md") -> Path:
        """A file of the workspace."""
        path = self.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def reply(self, message: str, key: str | None = DIRECT, parent: str | None = None) -> dict[str, Any]:
        """The whole answer to a message."""
        agent = Agent(
            self.settings.agents["main"],
            corpus=self.corpus,
            policy=self.settings.policy,
            search=Unasked(),
            engines={},
        )
        asked = TriggersRequest(message=message, session_key=key, parent_session_key=parent)
        with ThreadPoolExecutor(1) as pool:
            return asyncio.run(recall(agent, asked, pool))

    def entries(self, message: str) -> list[dict[str, Any]]:
        """What a message brings to mind in a direct chat."""
        reply = self.reply(message)
        assert set(reply) == {"entries"}
        entries: list[dict[str, Any]] = reply["entries"]
        return entries

    def texts(self, message: str) -> list[str]:
        """The texts of these."""
        return [entry["text"] for entry in self.entries(message)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """With the usual configuration."""
    return Home(tmp_path)


def test_an_entry_is_recalled_by_its_phrase(home: Home) -> None:
    """With its place, its score and the phrase as its author typed it."""
    home.write("# Facts\n\n- Ravi cannot eat walnuts. <!-- trigger: dinner for Ravi, Nuts -->\n- Maya sails.\n")
    (entry,) = home.entries("What shall we cook for the dinner for Ravi?")
    assert entry.pop("score") == pytest.approx(0.8 + 0.2 / 3, abs=0.0001)
    place = {"path": "MEMORY.md", "startLine": 3, "endLine": 3}
    assert entry == {**place, "text": "- Ravi cannot eat walnuts.", "trigger": "dinner for Ravi"}


def test_lines_of_an_entry_can_be_opened(home: Home) -> None:
    """Reading them gives the same lines, with the annotations that are left out here."""
    home.write("a\n\n<!-- trigger: boat -->\n- The boat <!-- importance: 9 -->\n  leaves at nine.\n\nb\n")
    (entry,) = home.entries("boat")
    count = entry["endLine"] - entry["startLine"] + 1
    excerpt = read(locate(home.corpus, entry["path"]), start=entry["startLine"], lines=count)
    assert excerpt is not None
    assert excerpt.text.replace(" <!-- importance: 9 -->", "") == entry["text"]
    assert entry["text"] == "- The boat\n  leaves at nine."


def test_only_the_two_curated_files_bring_something_to_mind(tmp_path: Path) -> None:
    """Text of other people comes into daily notes, sessions and extra folders."""
    config = """{memory: {qmd: {sessions: {enabled: true, exportDir: "sessions"}, paths: [{path: "extra"}]}}}"""
    home = Home(tmp_path, config)
    for name in ("MEMORY.md", "USER.md", "OTHER.md", "memory/2026-01-01.md", "memory/MEMORY.md", "extra/MEMORY.md"):
        home.write(f"{name} <!-- trigger: boat -->\n", name)
    for name in ("sessions/main.md", "sessions/MEMORY.md"):
        home.write(f"{name} <!-- trigger: boat -->\n", name)
    assert home.texts("boat") == ["MEMORY.md", "USER.md"]


def test_the_root_memory_in_force_is_read(home: Home) -> None:
    """`memory.md` where there is no `MEMORY.md`."""
    home.write("small <!-- trigger: boat -->\n", "memory.md")
    assert home.entries("boat")[0]["path"] == "memory.md"
    home.write("great <!-- trigger: boat -->\n", "MEMORY.md")
    assert home.texts("boat") == ["great"]


def test_without_default_memory_nothing_comes_to_mind(tmp_path: Path) -> None:
    """A folder that holds a file of the same name is another thing."""
    home = Home(tmp_path, """{memory: {qmd: {includeDefaultMemory: false, paths: [{path: "."}]}}}""")
    home.write("a <!-- trigger: boat -->\n")
    assert home.texts("boat") == []


def test_a_link_is_not_followed(home: Home, tmp_path: Path) -> None:
    """It may lead to what was never thought over."""
    (tmp_path / "outside.md").write_text("outside <!-- trigger: boat -->\n", encoding="utf-8")
    (home.workspace / "MEMORY.md").symlink_to(tmp_path / "outside.md")
    assert home.texts("boat") == []


def test_missing_files_and_messages_without_words_bring_nothing_to_mind(home: Home) -> None:
    """That is an answer."""
    assert home.texts("boat") == []
    home.write("a <!-- trigger: boat -->\n")
    assert [home.texts(message) for message in ("", "  ", "👍", "\0")] == [[], [], [], []]


def test_the_score_is_mostly_the_phrase_and_a_little_the_words_of_the_entry(home: Home) -> None:
    """0.8 of the one and 0.2 of the other, which alone is not enough."""
    home.write("- Corvo ferry north pier\n- Corvo ferry tickets <!-- trigger: boat -->\n- x <!-- trigger: boat -->\n")
    entries = home.entries("boat: Corvo ferry tickets")
    assert [entry["score"] for entry in entries] == [0.88, 0.68]
    assert home.texts("Corvo ferry tickets") == []


@pytest.mark.parametrize(
    ("message", "found"), [("deploy the server", True), ("deploy checklist", True), ("deploy", False)]
)
def test_a_part_of_a_phrase_is_enough_with_the_words_of_the_entry(home: Home, message: str, found: bool) -> None:
    """Two words of three, where the entry speaks of the same thing."""
    home.write("How to deploy a server by the checklist. <!-- trigger: deploy checklist server -->\n")
    assert bool(home.texts(message)) is found


def test_importance_orders_and_makes_nothing_relevant(home: Home) -> None:
    """What is weak by itself stays out, however important; what is strong stays in."""
    home.write(
        "- a <!-- trigger: boat --> <!-- importance: 1 -->\n- b <!-- trigger: boat -->\n"
        "- c <!-- trigger: boat --> <!-- importance: 10 -->\n- d <!-- trigger: boat trip --> <!-- importance: 10 -->\n"
    )
    entries = home.entries("boat")
    assert [(entry["text"][-1], entry["score"]) for entry in entries] == [("c", 0.85), ("b", 0.68), ("a", 0.544)]


def test_a_score_is_at_most_one(home: Home) -> None:
    """However important."""
    home.write("The boat trip <!-- trigger: boat trip --> <!-- importance: 10 -->\n")
    assert home.entries("boat trip")[0]["score"] == 1.0


def test_three_entries_at_most_and_ties_by_file_and_line(home: Home) -> None:
    """The same message and files give the same answer."""
    home.write("- u <!-- trigger: boat -->\n- v <!-- trigger: boat -->\n", "USER.md")
    home.write("- a <!-- trigger: boat -->\n- b <!-- trigger: boat -->\n")
    assert home.texts("boat") == home.texts("boat") == ["- a", "- b", "- u"]


def test_of_equally_strong_phrases_the_first_is_named(home: Home) -> None:
    """As its author ordered them."""
    home.write("a <!-- trigger: ferry, boat, trip to Corvo -->\n")
    assert [home.entries(message)[0]["trigger"] for message in ("boat, ferry", "boat trip to Corvo")] == [
        "ferry",
        "trip to Corvo",
    ]


def test_no_line_is_given_twice(home: Home) -> None:
    """A section and an item in it: the better one."""
    home.write("# Trips <!-- trigger: trips -->\n- Corvo <!-- trigger: ferry to Corvo -->\n\n# Else\n")
    assert home.texts("trips by ferry to Corvo") == ["- Corvo"]
    assert home.texts("trips") == ["# Trips\n- Corvo"]


def test_all_texts_together_have_a_limit_and_end_with_whole_lines(home: Home) -> None:
    """The rest can be read; an entry of which no line fits gives way to one that does."""
    long = "".join(f"  {'x' * 300} {number}\n" for number in range(4))
    home.write(
        f"- one <!-- trigger: boat -->\n{long}- two <!-- trigger: boat -->\n{long}- three <!-- trigger: boat -->\n"
    )
    entries = home.entries("boat")
    assert [(entry["startLine"], entry["endLine"], entry.get("partial")) for entry in entries] == [
        (1, 5, None),
        (6, 7, True),
        (11, 11, None),
    ]
    assert sum(len(entry["text"]) for entry in entries) <= MAX_CHARS


def test_a_part_of_an_entry_does_not_end_with_a_blank_line(home: Home) -> None:
    """Its last line is one that says something."""
    home.write(f"# Boats <!-- trigger: boat -->\n\nfast\n\n{'x' * MAX_CHARS}\n")
    (entry,) = home.entries("boat")
    assert (entry["text"], entry["endLine"], entry["partial"]) == ("# Boats\n\nfast", 3, True)


def test_an_entry_without_room_for_a_line_is_left_out(home: Home) -> None:
    """And does not keep a shorter one out."""
    home.write("".join(f"- {size * 'x'} <!-- trigger: boat -->\n" for size in (1000, 1000, 500)))
    assert [entry["startLine"] for entry in home.entries("boat")] == [1, 3]


def test_a_paragraph_in_one_long_line_is_cut_at_a_word(home: Home) -> None:
    """It would else never come to mind."""
    home.write(f"{'word ' * 1000} <!-- trigger: boat -->\n")
    (entry,) = home.entries("boat")
    assert MAX_CHARS - 10 < len(entry["text"]) <= MAX_CHARS
    assert (entry["text"][-5:], entry["partial"], entry["endLine"]) == (" word", True, 1)


def test_a_changed_file_is_read_again(home: Home) -> None:
    """Also one of the same size, and one that was put in its place."""
    path = home.write("old <!-- trigger: boat -->\n")
    assert home.texts("boat") == ["old"]
    home.write("new <!-- trigger: boat -->\n", "other.md")
    os.utime(home.workspace / "other.md", ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    (home.workspace / "other.md").replace(path)
    assert home.texts("boat") == ["new"]
    path.write_text("mew <!-- trigger: boat -->\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert home.texts("boat") == ["mew"]
    path.unlink()
    assert home.texts("boat") == []


@pytest.mark.parametrize("key", ["heartbeat", "cron:daily", "hook:mail", "main:heartbeat"])
def test_nothing_is_recalled_where_nobody_speaks(home: Home, key: str) -> None:
    """Heartbeats, cron jobs and hooks."""
    home.write("a <!-- trigger: boat -->\n")
    kind = "heartbeat" if "heartbeat" in key else key.partition(":")[0]
    assert home.reply("boat", f"agent:main:{key}") == {"entries": [], "skipped": kind}


@pytest.mark.parametrize(
    "key",
    ["agent:main:discord:channel:9", "agent:main:telegram:group:1", "agent:other:main", None, "", "agent:main:cron:"],
)
def test_whom_the_scope_denies_gets_the_rule_and_nothing_else(home: Home, key: str | None) -> None:
    """Before any file is looked at: one that cannot be read does not show."""
    home.write("a <!-- trigger: boat -->\n").chmod(0)
    reply = home.reply("boat", key)
    assert set(reply) == {"entries", "denied"}
    assert (reply["entries"], set(reply["denied"])) == ([], {"rule", "channel", "chatType", "kind"})


def test_a_sub_agent_follows_its_parent(home: Home) -> None:
    """Without one it is denied."""
    home.write("a <!-- trigger: boat -->\n")
    key = "agent:main:subagent:1"
    assert home.reply("boat", key, DIRECT)["entries"]
    assert "denied" in home.reply("boat", key, "agent:main:telegram:group:1")
    assert "denied" in home.reply("boat", key)


def test_a_disabled_memory_says_so(tmp_path: Path) -> None:
    """In the words of the other tools."""
    home = Home(tmp_path, "{agents: {defaults: {memorySearch: {enabled: false}}}}")
    home.write("a <!-- trigger: boat -->\n")
    error = "memory search is disabled for this agent"
    assert home.reply("boat") == {"entries": [], "disabled": True, "error": error}


def test_a_file_that_cannot_be_read_is_told_and_does_not_hide_the_other(home: Home) -> None:
    """Here for its size; permissions bind no test that runs as root."""
    os.truncate(home.write("a <!-- trigger: boat -->\n"), MAX_BYTES + 1)
    home.write("b <!-- trigger: boat -->\n", "USER.md")
    reply = home.reply("boat")
    assert [entry["text"] for entry in reply["entries"]] == ["b"]
    assert [(notice["code"], notice["message"]) for notice in reply["notices"]] == [
        ("unreadable", "MEMORY.md cannot be read (File too large)")
    ]


def test_a_file_in_utf16_is_told(home: Home) -> None:
    """Read as UTF-8 it would hold no phrase, and nobody would know why."""
    (home.workspace / "MEMORY.md").write_bytes("- a <!-- trigger: boat -->".encode("utf-16"))
    (notice,) = home.reply("boat")["notices"]
    assert notice["message"] == "MEMORY.md cannot be read (it is UTF-16; save it as UTF-8)"


def test_odd_files_are_read(home: Home) -> None:
    """Marks of byte order, line ends of Windows, bytes that are not UTF-8 and separators that end no line."""
    (home.workspace / "MEMORY.md").write_bytes(
        b"\xef\xbb\xbf# A\r\n\r\n- caf\xe9 \xe2\x80\xa8x <!-- trigger: boat, \xff -->\r\n- b\r\n"
    )
    (entry,) = home.entries("boat")
    assert (entry["startLine"], entry["endLine"], entry["text"]) == (3, 3, "- caf\ufffd \u2028x")


def test_every_entry_is_part_of_its_file(home: Home) -> None:
    """Whatever the annotations stand in."""
    blocks = (
        "# H {}\n",
        "## I\n{}\n",
        "- a {}\n  b\n",
        "  - c\n    d {}\n",
        "text\n{}\n\n",
        "```\n{}\n```\n",
        "\n{}\n",
    )
    for at in range(len(blocks) ** 3):
        chosen = (blocks[at % 7], blocks[at // 7 % 7], blocks[at // 49])
        text = "".join(block.replace("{}", f"<!-- trigger: boat, t{n} -->") for n, block in enumerate(chosen))
        home.write(text)
        lines = split_lines(text)
        for one in recalled_by("boat", home.corpus)[0]:
            given = lines[one.entry.first - 1 : one.entry.last]
            assert [line.partition("<!--")[0].rstrip() for line in given] == [
                line.partition("<!--")[0].rstrip() for line in one.entry.lines()
            ], text


@pytest.mark.alone
def test_a_second_message_is_compared_and_nothing_is_read_again(home: Home) -> None:
    """At 512 annotations with 2,000 phrases: a small part of what the first one costs."""
    text = "".join(
        f"- about w{n}a and w{n}b <!-- trigger: w{n}a, w{n}b w{n}c, trip w{n}d, w{n}e x w{n}f -->\n"
        for n in range(MAX_ANNOTATED)
    )
    home.write(text)

    def cost_s() -> float:
        started = time.thread_time()
        assert len(recalled_by("is there a trip w7d to w400a with w30b w30c", home.corpus)[0]) == 3
        return time.thread_time() - started

    first = cost_s()
    assert min(cost_s() for _ in range(5)) < first / 5


NOTE = "# Facts\n\n- Ravi cannot eat walnuts. <!-- trigger: dinner -->\n"


def test_the_gateway_answers_and_logs_no_text(tmp_path: Path) -> None:
    """Over the socket, with an id for the log."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "MEMORY.md").write_text(NOTE, encoding="utf-8")
    config = {"memory": {"backend": "builtin"}, "agents": {"defaults": {"workspace": str(tmp_path / "workspace")}}}
    with running(tmp_path, config) as daemon:
        reply = triggered(daemon, message="Dinner tonight? secretquestion", sessionKey=DIRECT)
        assert [entry["text"] for entry in reply["entries"]] == ["- Ravi cannot eat walnuts."]
        assert reply["requestId"]
        assert triggered(daemon, message="", sessionKey=DIRECT)["entries"] == []
        assert "denied" in triggered(daemon, message="dinner")
    log = daemon.log.read_text(encoding="utf-8")
    assert "triggers" in log
    assert not [word for word in ("secretquestion", "walnuts", "dinner") if word in log.lower()]


def triggered(daemon: Running, **body: str) -> dict[str, Any]:
    """One call over the socket."""
    reply: dict[str, Any] = daemon.call("POST", "/v1/agents/main/triggers", body)
    return reply
