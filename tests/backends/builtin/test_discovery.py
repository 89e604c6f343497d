"""What changed on disk is told from names, times and sizes; no note is opened for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from backends.builtin.discovery import Known, compare
from backends.corpus import Corpus, Kind, Root
from tests.running import REPOSITORY

#: Syncs a workspace three times, with a changed note before the third, and prints the notes that each sync opened.
OPENED = """
import json, os, sys
from pathlib import Path
from backends.builtin import BuiltinOptions, EmbeddingSpec, IndexJob, run_index_job
from backends.corpus import Corpus, Kind, Root

home = Path(sys.argv[1])
root = Root(name="memory-dir", kind=Kind.DAILY, path=home / "memory", patterns=("**/*.md",), shown="memory/")
options = BuiltinOptions(index=home / "index.sqlite", embedding=EmbeddingSpec(provider="none"))
job = IndexJob(corpus=Corpus("main", home, (root,)), options=options)
opened = []
sys.addaudithook(lambda event, about: event == "open" and opened.append(os.path.basename(str(about[0]))))
for turn in range(3):
    if turn == 2:
        with open(home / "memory" / "deep" / "b.md", "a") as stream:
            stream.write("more")
    opened.clear()
    run_index_job(job, embedder_for=lambda spec: None)
    print(json.dumps(sorted(name for name in opened if name.endswith(".md"))))
"""


def test_a_sync_opens_changed_notes_and_no_others(tmp_path: Path) -> None:
    """Every open file of the process is seen: all notes at first, then none, then the one that was written."""
    (tmp_path / "memory" / "deep").mkdir(parents=True)
    for name in ("a.md", "deep/b.md", "deep/c.md"):
        (tmp_path / "memory" / name).write_text(f"note {name}\n", encoding="utf-8")
    command = [sys.executable, "-c", OPENED, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [["a.md", "b.md", "c.md"], [], ["b.md"]]


def test_a_difference_is_what_is_new_changed_gone_and_the_same(tmp_path: Path) -> None:
    """By time or by size; a note that was only renamed is gone and new."""
    for name in ("same.md", "longer.md", "touched.md", "new.md"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    root = Root(name="notes", kind=Kind.EXTRA, path=tmp_path, patterns=("**/*.md",), shown="qmd/notes/")
    corpus = Corpus("main", tmp_path, (root,))
    known = {
        root.shown + found.relative: Known(found.mtime_ns, found.size, root.name) for root, found in corpus.files()
    }
    del known["qmd/notes/new.md"]
    known["qmd/notes/gone.md"] = Known(1, 1, "notes")
    (tmp_path / "longer.md").write_text("more text", encoding="utf-8")
    os.utime(tmp_path / "touched.md", (1, 1))
    difference = compare(corpus, known)
    assert sorted(found.relative for _, found in difference.suspects) == ["longer.md", "new.md", "touched.md"]
    assert (difference.gone, difference.same) == (("qmd/notes/gone.md",), frozenset({"qmd/notes/same.md"}))
    assert difference.pending().files == 4
    assert difference.pending(skipped={"qmd/notes/new.md"}).files == 3
