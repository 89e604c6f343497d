"""Exporting: what is written, what is left alone, and what survives failure."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from exporter import ExportJob, export_name, export_sessions
from exporter.job import MAX_LISTED
from tests.exporter.conftest import Place, said


def age(path: Path, *, days: float) -> None:
    """Make a file older than it is."""
    at = path.stat().st_mtime - days * 86_400
    os.utime(path, (at, at))


def written(path: Path) -> tuple[int, int, int]:
    """What changes when a file is written anew, and stays when it is read."""
    facts = path.stat()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def test_a_session_becomes_one_private_file(place: Place) -> None:
    """The export holds the words, redacted, at 0600 in a folder at 0700."""
    place.write(
        "s1.jsonl", [{"type": "session", "version": 3}, said("user", "password: hunter2"), said("assistant", "noted")]
    )
    report = place.export()
    text = place.read("s1.md")
    assert "User: password: [redacted:assignment]\nAssistant: noted\n" in text
    assert (report.written, report.turns, report.redacted, report.changed) == (1, 2, {"assignment": 1}, True)
    assert stat.S_IMODE((place.exports / "s1.md").stat().st_mode) == 0o600
    assert stat.S_IMODE(place.exports.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(place.job.ledger).stat().st_mode) == 0o600


def test_a_secret_over_two_lines_is_found(place: Place) -> None:
    """A key block in a message is gone, and so is a value behind a line break."""
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\ndef==\n-----END RSA PRIVATE KEY-----"
    place.write("s1.jsonl", [said("user", f"my key\n{key}\nand password:\nhunter2")])
    place.export()
    assert "User: my key [redacted:private-key] and password: [redacted:assignment]" in place.read("s1.md")


def test_an_unchanged_transcript_is_not_read_again(place: Place) -> None:
    """The second run opens nothing: an unreadable body does not matter to it."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    before = written(place.exports / "s1.md")
    facts = path.stat()
    path.write_bytes(b"x" * facts.st_size)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    report = place.export()
    assert (report.written, report.unchanged, report.changed) == (0, 1, False)
    assert written(place.exports / "s1.md") == before


def test_a_grown_transcript_is_exported_again(place: Place) -> None:
    """New turns reach the export."""
    place.write("s1.jsonl", [said("user", "one")])
    place.export()
    place.write("s1.jsonl", [said("user", "one"), said("user", "two")])
    assert place.export().written == 1
    assert "User: two" in place.read("s1.md")


def test_other_rules_make_old_exports_anew(place: Place) -> None:
    """A new redaction pattern reaches sessions that are long over."""
    place.write("s1.jsonl", [said("user", "EMP-1234")])
    place.export()
    assert place.export(redact_patterns=[r"EMP-\d+"]).written == 1
    assert "EMP-1234" not in place.read("s1.md")


def test_a_lost_export_is_written_again(place: Place) -> None:
    """The ledger is no proof that the file is still there."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    (place.exports / "s1.md").unlink()
    assert place.export().written == 1


def test_a_lost_ledger_loses_nothing(place: Place) -> None:
    """Our files are known by their own mark: replaced while they count, removed when they do not."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    place.export()
    for path in Path(place.job.ledger).parent.glob("sidecar.sqlite*"):
        path.unlink()
    (place.source / "s2.jsonl").unlink()
    report = place.export()
    assert (report.written, report.removed, place.names()) == (1, 1, {"s1.md"})


def test_a_deleted_session_loses_its_export(place: Place) -> None:
    """What the gateway deleted is gone from the exports, its archive included."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    path.rename(path.with_name("s1.jsonl.deleted.2026"))
    assert place.export().removed == 1
    assert place.names() == set()


def test_a_reset_archive_keeps_its_export(place: Place) -> None:
    """A reset session stays searchable under its archive's own name."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    path.rename(path.with_name("s1.jsonl.reset.2026"))
    place.export()
    assert place.names() == {"s1.jsonl.reset.2026.md"}


def test_a_transcript_beyond_retention_has_no_export(place: Place) -> None:
    """Old sessions expire; with 0 days they do not."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    age(path, days=91)
    report = place.export()
    assert (report.expired, report.removed, place.names()) == (1, 1, set())
    assert place.export(retention_days=0).written == 1


def test_a_session_without_words_has_no_file(place: Place) -> None:
    """300 heartbeats and two real turns make two turns; heartbeats alone make no file and are not reread."""
    beats = [said("user", "[OpenClaw heartbeat poll]"), said("assistant", "HEARTBEAT_OK")] * 150
    place.write("idle.jsonl", beats)
    place.write("real.jsonl", [*beats, said("user", "hello"), said("assistant", "hi")])
    report = place.export()
    assert (report.empty, report.turns, place.names()) == (1, 2, {"real.md"})
    assert place.export().unchanged == 2


def test_other_peoples_files_are_never_touched(place: Place) -> None:
    """Notes stay, also one that stands where an export belongs and one that was an export until they changed it."""
    place.exports.mkdir()
    (place.exports / "notes.md").write_text("# mine\n")
    (place.exports / "s1.md").write_text("# mine too\n")
    place.write("s1.jsonl", [said("user", "hello")])
    place.write("s2.jsonl", [said("user", "hello")])
    report = place.export()
    (place.exports / "s2.md").write_text("# theirs now\n")
    (place.source / "s2.jsonl").unlink()
    place.export()
    assert [(failure.name, failure.code) for failure in report.failures] == [("s1.jsonl", "foreign_file")]
    assert place.names() == {"notes.md", "s1.md", "s2.md"}
    assert place.read("s1.md") == "# mine too\n"


def test_a_link_in_the_export_folder_is_not_followed(place: Place, tmp_path: Path) -> None:
    """A link where an export belongs is somebody else's: neither it nor its target changes."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    place.exports.mkdir()
    (place.exports / "s1.md").symlink_to(victim)
    place.write("s1.jsonl", [said("user", "hello")])
    assert place.export().failures[0].code == "foreign_file"
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
def test_a_read_error_keeps_the_old_export(place: Place) -> None:
    """A transcript that cannot be opened is reported, and its last export stays."""
    path = place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    path.write_text(json.dumps(said("user", "changed")) + "\n")
    path.chmod(0)
    report = place.export()
    assert report.failures[0].code == "io_error"
    assert "User: hello" in place.read("s1.md")


def test_a_full_disk_keeps_the_old_export(place: Place) -> None:
    """A write that fails half-way is reported; the last export stays whole, and the next run catches up."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    place.write("s1.jsonl", [said("user", "hello"), said("user", "word " * 400_000)])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        report = place.export()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert report.failures[0].code == "io_error"
    assert place.read("s1.md").endswith("User: hello\n")
    assert place.names() == {"s1.md"}
    assert place.export().written == 1


def test_a_run_that_is_killed_is_finished_by_the_next(place: Place) -> None:
    """After SIGKILL every export is whole, and the next run makes the missing ones."""
    for number in range(200):
        place.write(f"s{number}.jsonl", [said("user", "word " * 2000), said("assistant", "the end")])
    code = "import json, sys; from exporter import *; export_sessions(ExportJob(**json.loads(sys.argv[1])))"
    run = subprocess.Popen([sys.executable, "-c", code, json.dumps(asdict(place.job))])
    deadline = time.monotonic() + 30
    while not (place.exports.exists() and place.names()) and time.monotonic() < deadline:
        time.sleep(0.002)
    run.kill()
    run.wait(timeout=10)
    assert all(place.read(name).endswith("Assistant: the end\n") for name in place.names() if name.endswith(".md"))
    place.export()
    assert place.names() == {f"s{number}.md" for number in range(200)}


def test_a_missing_transcripts_folder_removes_nothing(place: Place) -> None:
    """A folder that is not mounted is no proof of deletion."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    place.source.rename(place.source.with_name("elsewhere"))
    assert place.export().failures[0].code == "transcripts_unreadable"
    assert place.names() == {"s1.md"}


def test_without_retention_no_time_is_too_long_ago(place: Place) -> None:
    """A clock that was never set writes times before 1970."""
    os.utime(place.write("s1.jsonl", [said("user", "hello")]), (-(10**6), -(10**6)))
    assert (place.export(retention_days=0).written, place.export(retention_days=90).expired) == (1, 1)


def test_an_agent_to_whom_nobody_has_spoken_needs_no_folder_of_transcripts(place: Place) -> None:
    """It is missed from the first conversation on, or where it was named."""
    place.source.rmdir()
    assert place.export(may_be_missing=True).failures == []
    (failure,) = place.export().failures
    assert failure.reason.startswith(f"{place.source}: ")
    place.source.mkdir()
    place.write("s1.jsonl", [said("user", "hello")])
    place.export(may_be_missing=True)
    place.source.rename(place.source.with_name("elsewhere"))
    assert place.export(may_be_missing=True).failures[0].code == "transcripts_unreadable"


def test_a_killed_run_leaves_nothing_behind(place: Place) -> None:
    """A half-written file of an earlier run is swept away."""
    place.exports.mkdir()
    (place.exports / ".qmd-sidecar-s0.md.tmp").write_text("# Session")
    place.export()
    assert place.names() == set()


def test_bad_lines_are_reported(place: Place) -> None:
    """Damage is counted over all transcripts."""
    place.write("s1.jsonl", ["{", said("user", "hello")])
    place.write("s2.jsonl", ["}", said("user", "hello")])
    assert place.export().bad_lines == 2


def test_chores_are_left_out(place: Place) -> None:
    """Cron runs, sub-agents and what they started have no export; a session that becomes known as one loses it."""
    for name in ["chat", "job", "child", "orphan"]:
        place.write(f"{name}.jsonl", [said("user", "hello")])
    assert place.export().written == 4
    store = {
        "agent:main:main": {"sessionId": "chat"},
        "agent:main:cron:daily:run:1": {"sessionId": "x", "sessionFile": "/elsewhere/job.jsonl"},
        "agent:main:acp:1": {"sessionId": "child", "spawnedBy": "agent:main:cron:daily:run:1"},
    }
    (place.source / "sessions.json").write_text(json.dumps(store))
    report = place.export()
    assert (report.left_out, report.removed) == (2, 2)
    assert place.names() == {"chat.md", "orphan.md"}


def test_a_half_written_session_store_stops_the_run(place: Place) -> None:
    """Without the store nobody knows what is a chore, so nothing is exported or removed this time."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    place.write("s2.jsonl", [said("user", "hello")])
    (place.source / "sessions.json").write_text('{"agent:ma')
    assert place.export().failures[0].code == "session_store_unreadable"
    assert place.names() == {"s1.md"}


def test_an_export_line_leads_back_to_its_transcript(place: Place) -> None:
    """Each turn's line maps to the line that it was said in; headings map to nothing."""
    place.write("s1.jsonl", [{"type": "session"}, said("user", "a"), "{bad", said("assistant", "b")])
    place.export()
    lines = place.read("s1.md").splitlines()
    back = {text: place.line(number) for number, text in enumerate(lines, start=1)}
    assert (back["User: a"], back["Assistant: b"], back["# Session s1"]) == (2, 4, None)
    assert (place.line(999), place.line(1, 99), place.line(1, 2)) == (None, 2, None)


def test_two_folders_share_a_ledger(place: Place, tmp_path: Path) -> None:
    """Agents share one database and do not remove each other's exports."""
    place.write("s1.jsonl", [said("user", "hello")])
    place.export()
    (tmp_path / "empty").mkdir()
    report = place.export(transcripts=str(tmp_path / "empty"), export_folder=str(tmp_path / "other"))
    assert report.removed == 0
    assert place.export().unchanged == 1


def test_a_job_is_json() -> None:
    """A job crosses to the worker process as JSON and comes back the same."""
    job = ExportJob(transcripts="/t", export_folder="/e", ledger="/l", redact_patterns=["a"])
    assert ExportJob(**json.loads(json.dumps(asdict(job)))) == job


def test_export_names_are_one_to_one() -> None:
    """A session and its archives never share a file."""
    names = ["a.jsonl", "a.jsonl.reset.1", "a-topic-1.jsonl", "a.reset.1.jsonl"]
    assert len({export_name(name) for name in names}) == len(names)


def test_only_the_rest_of_a_grown_transcript_is_read(place: Place) -> None:
    """An export goes on where it stopped, and is what an export of the whole would have been."""
    turns = [said("user", f"word {n}", at=f"2026-11-{n // 10 + 1:02}T10:00:00Z") for n in range(100)]
    path = place.write("s1.jsonl", [{"type": "session"}, *turns[:35]])
    place.export()
    added = "".join(json.dumps(turn) + "\n" for turn in turns[35:])
    with path.open("a") as file:
        file.write(added)
    report = place.export()
    assert (report.written, report.turns, report.read_bytes) == (1, 65, len(added))
    text = place.read("s1.md")
    line = text.splitlines().index("User: word 99") + 1
    assert place.line(line) == 101
    Path(place.job.ledger).unlink()
    place.export()
    assert place.read("s1.md") == text


@pytest.mark.parametrize("where", ["beginning", "end"])
def test_a_transcript_that_was_rewritten_is_read_from_its_beginning(place: Place, where: str) -> None:
    """Growing is no proof that what was there before is the same."""
    before = [said("user", "one"), said("user", "two")]
    path = place.write("s1.jsonl", before)
    place.export()
    changed = [said("user", "ten"), before[1]] if where == "beginning" else [before[0], said("user", "ten")]
    place.write("s1.jsonl", [*changed, said("user", "three")])
    assert place.export().read_bytes == path.stat().st_size
    assert "User: ten" in place.read("s1.md")


def test_another_file_of_the_same_name_is_read_from_its_beginning(place: Place) -> None:
    """A file put in its place may differ anywhere."""
    lines = [said("user", f"word {n}") for n in range(3)]
    path = place.write("s1.jsonl", lines)
    place.export()
    place.write("new", [*lines, said("user", "more")]).replace(path)
    assert place.export().turns == 4


def test_a_half_written_line_is_read_when_it_is_complete(place: Place) -> None:
    """It costs nothing, is not counted as damage, and is read once."""
    line = json.dumps(said("user", "two")) + "\n"
    path = place.write("s1.jsonl", [said("user", "one")], tail=line[:20])
    assert (place.export().turns, place.export().unchanged) == (1, 1)
    with path.open("a") as file:
        file.write(line[20:])
    report = place.export()
    assert (report.turns, report.bad_lines, report.read_bytes) == (1, 0, len(line))
    assert place.read("s1.md").endswith("User: one\nUser: two\n")


def test_a_last_line_without_its_end_is_not_read_twice(place: Place) -> None:
    """It was complete; then its end comes, and the next line."""
    path = place.write("s1.jsonl", [], tail=json.dumps(said("user", "one")))
    place.export()
    with path.open("a") as file:
        file.write("\n" + json.dumps(said("user", "two")) + "\n")
    place.export()
    assert place.read("s1.md").endswith("User: one\nUser: two\n")
    assert place.line(6) == 2


def test_more_tool_traffic_leaves_an_export_alone(place: Place) -> None:
    """Nothing was said, so nothing is written and nothing has to be indexed."""
    path = place.write("s1.jsonl", [said("user", "one")])
    place.export()
    before = written(place.exports / "s1.md")
    with path.open("a") as file:
        file.write(json.dumps(said("toolResult", "output")) + "\n")
    report = place.export()
    assert (report.written, report.unchanged, report.changed) == (0, 1, False)
    assert written(place.exports / "s1.md") == before
    assert place.export().read_bytes == 0


def test_an_export_that_somebody_changed_is_made_anew(place: Place) -> None:
    """New turns are never appended to what we did not write."""
    path = place.write("s1.jsonl", [said("user", "one")])
    place.export()
    with (place.exports / "s1.md").open("a") as file:
        file.write("User: forged\n")
    with path.open("a") as file:
        file.write(json.dumps(said("user", "two")) + "\n")
    assert place.export().turns == 2
    assert "forged" not in place.read("s1.md")


def test_a_chore_stays_one_when_the_store_forgets_it(place: Place) -> None:
    """The gateway prunes the entries of old cron runs long before their transcripts."""
    place.write("job.jsonl", [said("user", "hello")])
    store = place.source / "sessions.json"
    store.write_text(json.dumps({"agent:main:cron:daily:run:1": {"sessionId": "job"}}))
    assert place.export().left_out == 1
    store.write_text("{}")
    assert [place.export().left_out for _ in range(3)] == [1, 1, 1]
    assert place.names() == set()


def test_a_transcript_may_name_its_session_itself(place: Place) -> None:
    """An archive that no store knows is left out when its records say that a cron job wrote them."""
    header = {"type": "session", "sessionKey": "agent:main:cron:daily:run:1"}
    place.write("job.jsonl.reset.1", [header, said("user", "hello")])
    place.export()
    assert [place.export().left_out for _ in range(2)] == [1, 1]
    assert place.names() == set()


def test_many_empty_exports_raise_an_alarm(place: Place) -> None:
    """Twenty transcripts of which most hold nothing are a form that is not understood, and stay one."""
    for number in range(20):
        place.write(f"s{number}.jsonl", [{"type": "entry", "text": "hello"}])
    assert [place.export().mostly_empty for _ in range(2)] == [True, True]
    for number in range(10):
        place.write(f"s{number}.jsonl", [said("user", "hello")])
    assert not place.export().mostly_empty


def test_a_dry_run_says_what_would_happen_and_does_nothing(place: Place) -> None:
    """Written, removed and redacted are what the real run then has."""
    for name in ["gone", "stays"]:
        place.write(f"{name}.jsonl", [said("user", "hello")])
    place.export()
    (place.source / "gone.jsonl").unlink()
    place.write("new.jsonl", [said("user", "password: hunter2")])
    before = {path.name: written(path) for path in place.exports.iterdir()}
    dry = place.export(dry_run=True)
    assert {path.name: written(path) for path in place.exports.iterdir()} == before
    assert dry == place.export()
    assert {(change.action, change.name, change.redacted) for change in dry.changes} == {
        ("write", "new.jsonl", 1),
        ("remove", "gone.jsonl", 0),
    }


def test_only_transcripts_of_a_time_are_exported(place: Place) -> None:
    """What was last written before it is passed over, and keeps its export."""
    old = place.write("old.jsonl", [said("user", "hello")])
    age(old, days=10)
    place.export()
    place.write("old.jsonl", [said("user", "other")])
    age(old, days=10)
    place.write("new.jsonl", [said("user", "hello")])
    report = place.export(since_s=int(time.time()) - 86_400)
    assert (report.written, report.passed_over, report.removed) == (1, 1, 0)
    assert "User: hello" in place.read("old.md")


def test_a_diff_shows_redacted_lines_only(place: Place) -> None:
    """Also where the old export holds what only a new pattern calls a secret."""
    place.write("s1.jsonl", [said("user", "same"), said("user", "EMP-1234")])
    place.export()
    report = place.export(redact_patterns=[r"EMP-\d+"], diff=True, dry_run=True)
    assert report.diff.splitlines() == [
        "--- s1.md",
        "+++ s1.md",
        "@@ -6,1 +6,1 @@",
        "-User: [redacted:custom]",
        "+User: [redacted:custom]",
    ]


def test_a_diff_shows_what_is_appended_and_what_is_removed(place: Place) -> None:
    path = place.write("s1.jsonl", [said("user", "one")])
    place.write("s2.jsonl", [said("user", "bye")])
    place.export()
    with path.open("a") as file:
        file.write(json.dumps(said("user", "two")) + "\n")
    (place.source / "s2.jsonl").unlink()
    diff = place.export(diff=True).diff
    assert "--- s1.md\n+++ s1.md\n@@ -5,0 +6,1 @@\n+User: two\n" in diff
    assert "@@ -1,5 +0,0 @@\n-# Session s2\n" in diff


def test_a_diff_has_an_end(place: Place) -> None:
    """However much changed, the report stays small and says that there is more."""
    place.write("s1.jsonl", [said("user", f"{number} " + "word " * 150) for number in range(3000)])
    report = place.export(diff=True)
    assert report.diff_cut
    assert 100_000 < len(report.diff) <= 200_000


def test_a_broken_ledger_is_reported(place: Place) -> None:
    """Nothing is exported, nothing removed, and the cause is named."""
    Path(place.job.ledger).write_bytes(b"no database" * 100)
    assert [failure.code for failure in place.export().failures] == ["ledger_unusable"]


def test_an_export_folder_that_is_none_is_reported(place: Place) -> None:
    """A file stands in its place."""
    place.exports.write_text("mine")
    assert [failure.code for failure in place.export().failures] == ["export_folder_unusable"]


def test_a_value_split_by_a_control_character_is_still_a_secret(place: Place) -> None:
    """What is written is what is looked at."""
    place.write("s1.jsonl", [said("user", "pass\0word: hunter2")])
    place.export()
    assert "hunter2" not in place.read("s1.md")


def test_a_report_names_so_many_and_counts_all(place: Place) -> None:
    """However many fail, a reply stays small."""
    place.exports.mkdir()
    for number in range(MAX_LISTED + 5):
        place.write(f"s{number}.jsonl", [said("user", "hello")])
        (place.exports / f"s{number}.md").write_text("mine\n")
    report = place.export()
    assert (report.failed, len(report.failures)) == (MAX_LISTED + 5, MAX_LISTED)


def test_a_chore_that_came_into_a_conversation_does_not_take_it_along(place: Place) -> None:
    """Only what stands under the chore's key is left out, this time and the next."""
    job = {**said("user", "do the news"), "sessionKey": "agent:main:cron:daily:run:1"}
    place.write("s1.jsonl", [said("user", "hello"), job])
    assert [place.export().left_out for _ in range(2)] == [0, 0]
    assert place.read("s1.md").endswith("User: hello\n")


def test_a_long_transcript_gives_signs_of_life(place: Place) -> None:
    """Whoever waits for one may tell long work from a hung disk."""
    place.write("s1.jsonl", [said("user", "hello")] * 100)
    signs: list[None] = []
    export_sessions(place.job, lambda: signs.append(None))
    assert len(signs) > 100


def test_half_an_emoji_in_a_session_key_stops_no_export(place: Place) -> None:
    """No database can hold it as it is."""
    place.write("s1.jsonl", ['{"sessionKey": "\\ud83d", ' + json.dumps(said("user", "hello"))[1:]])
    place.write("s2.jsonl", [said("user", "good evening")])
    assert place.export().written == 2
    assert place.export().unchanged == 2
