"""What exporting transcripts takes: speed and memory of the first run, and what the second one opens.

    python -m tests.bench exports [--transcripts 2000] [--megabytes 2048]

Each run is a process of its own, as in the worker, which counts the bodies that it opens by an audit hook.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from exporter import ExportJob
from tests.bench.timing import at_least, at_most, verdict

TRANSCRIPTS = 2000
MEGABYTES = 2048
RSS_MB = 200
#: Of a processor's time: the clock would measure who else is at work.
MB_A_SECOND = 20
#: One transcript of so large a share of the whole: a session that nobody ever reset.
GIANT_SHARE = 0.25
SEED = 7
#: Prints what the run took, opened and reported.
RUN = """
import dataclasses, json, resource, sys, time
from exporter import ExportJob, export_sessions
job = ExportJob(**json.loads(sys.argv[1]))
opened = 0
def see(event, args):
    global opened
    opened += event == "open" and job.transcripts in str(args[0]) and ".jsonl" in str(args[0])
sys.addaudithook(see)
started, spent = time.perf_counter(), time.process_time()
report = export_sessions(job)
took_s, cpu_s = time.perf_counter() - started, time.process_time() - spent
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
figures = {"took_s": took_s, "cpu_s": cpu_s, "opened": opened, "rss_mb": rss / 2**20}
print(json.dumps(figures | dataclasses.asdict(report)))
"""
WORDS = (
    "the boat to Corvo leaves at nine when the wind allows and my sister wants a window seat near the galley "
    "please remember that our cabin needs new lamps before winter because the old ones flicker every evening"
).split()


@dataclass(frozen=True, slots=True)
class Exported:
    """One run: seconds by the clock and of a processor, bodies opened, the most memory it had, and its report."""

    took_s: float
    cpu_s: float
    opened: int
    rss_mb: float
    report: dict[str, Any]


def write_transcripts(folder: Path, transcripts: int, megabytes: float) -> int:
    """Transcripts as a gateway writes them, most of it tool traffic; the bytes that were written."""
    folder.mkdir(parents=True)
    draw = random.Random(SEED)
    total, written = int(megabytes * 2**20), 0
    for number in range(transcripts):
        share = GIANT_SHARE if number == 0 else (1 - GIANT_SHARE) / max(1, transcripts - 1)
        size = 0
        with (folder / f"s{number:05}.jsonl").open("wb") as file:
            for line in _lines(draw):
                size += file.write(line)
                if size >= total * share:
                    break
        written += size
    return written


def _lines(draw: random.Random) -> Iterator[bytes]:
    yield b'{"type":"session","version":3,"id":"s"}\n'
    # JSON is made once and repeated: making two gigabytes of it would take longer than exporting them.
    turns = [_turn(draw, secret=not number) for number in range(40)]
    while True:
        yield draw.choice(turns)


def _turn(draw: random.Random, *, secret: bool) -> bytes:
    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words))

    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"[Fri 2026-11-27 10:00 UTC] {text(draw.randint(5, 60))}"},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": text(80)}, {"type": "text", "text": text(120)}],
        },
        {"role": "toolResult", "content": [{"type": "text", "text": text(draw.randint(200, 1200))}]},
        {"role": "user", "content": "password: hunter2 opens the door" if secret else "thanks"},
    ]
    records = [{"type": "message", "timestamp": "2026-11-27T10:00:00Z", "message": message} for message in messages]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def export(folder: Path) -> Exported:
    """Export the transcripts below a folder in a process of its own."""
    job = ExportJob(
        transcripts=str(folder / "transcripts"),
        export_folder=str(folder / "exports"),
        ledger=str(folder / "exports.sqlite"),
        retention_days=0,
    )
    done = subprocess.run([sys.executable, "-c", RUN, json.dumps(asdict(job))], check=True, capture_output=True)
    report = json.loads(done.stdout)
    return Exported(report.pop("took_s"), report.pop("cpu_s"), report.pop("opened"), report.pop("rss_mb"), report)


def measure(transcripts: int, megabytes: float) -> tuple[int, Exported, Exported, Exported]:
    """The size in bytes, the first run, the second over the same, and the third after one line more in the giant."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        size = write_transcripts(folder / "transcripts", transcripts, megabytes)
        first, second = export(folder), export(folder)
        with (folder / "transcripts" / "s00000.jsonl").open("ab") as file:
            file.write(_turn(random.Random(SEED), secret=True))
        return size, first, second, export(folder)


def report(transcripts: int, found: tuple[int, Exported, Exported, Exported]) -> bool:
    """Print the figures and say whether the targets were met."""
    size, first, second, third = found
    print(f"exports: {transcripts:,} transcripts, {size / 2**20:,.0f} MB, one of them a quarter of it")
    for name, run in (("first", first), ("unchanged", second), ("one turn more", third)):
        times = f"{run.took_s:8.2f} s, {run.cpu_s:7.2f} s of a processor"
        print(f"  {name:<14} {times}   {run.opened:6,} opened   {run.rss_mb:6.0f} MB at most")
    met = verdict(f"{first.report['written']:,} written", "all", first.report["written"] == transcripts)
    print(f"       {size / 2**20 / first.took_s:,.0f} MB/s by the clock")
    met = at_least("speed", size / 2**20 / first.cpu_s, MB_A_SECOND, "MB a processor's second") and met
    met = at_most("memory", max(run.rss_mb for run in (first, second, third)), RSS_MB, "MB") and met
    met = verdict(f"{second.opened:,} bodies opened when nothing changed", "none", second.opened == 0) and met
    again = third.report["read_bytes"]
    met = verdict(f"{again:,} bytes read for one turn more", "that turn", 0 < again < 20_000) and met
    print(flush=True)
    return met


def run(transcripts: int | None = None, megabytes: float | None = None) -> bool:
    """Measure and print. Two gigabytes need a disk that has room for them and for what is made of them."""
    wanted = megabytes or MEGABYTES
    if shutil.disk_usage(tempfile.gettempdir()).free < 3 * wanted * 2**20:
        print("exports: not enough room for the transcripts; give --megabytes")
        return False
    count = transcripts or TRANSCRIPTS
    return report(count, measure(count, wanted))
