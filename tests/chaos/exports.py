"""An export is killed at random moments while its transcripts grow, are rewritten, come and go.

    python -m tests.chaos.exports [--kills 50] [--seed 20260211]

The promise: whenever it is killed, every export is whole, with each turn of some earlier moment once and in order; the
next run makes up for everything; what is not ours stays.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from exporter import ExportJob, export_sessions

SEED = 20260211
TRANSCRIPTS = 60
TURNS = 150
NOTE = "# a note of somebody else\n"
#: How long after it began an export is killed, in seconds.
DELAY_S = (0.0, 0.5)
#: Rounds in which the ledger is lost, too.
LOST_SHARE = 0.2
TURN = re.compile(r"User: turn (\d+) of (\S+) ")
RUN = """
import json, sys
from exporter import ExportJob, export_sessions
print("begins", flush=True)
export_sessions(ExportJob(**json.loads(sys.argv[1])))
print("ends", flush=True)
"""


@dataclass
class Storm:
    """The transcripts, how many turns each has, and what went wrong."""

    folder: Path
    draw: random.Random
    turns: dict[str, int] = field(default_factory=dict)
    kills: int = 0
    finished: int = 0
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.transcripts, self.exports = self.folder / "transcripts", self.folder / "exports"
        self.transcripts.mkdir(parents=True)
        self.exports.mkdir()
        (self.exports / "note.md").write_text(NOTE)
        self.job = ExportJob(
            transcripts=str(self.transcripts), export_folder=str(self.exports), ledger=str(self.folder / "l.sqlite")
        )

    def change(self) -> None:
        """Let the gateway go on: most sessions grow, some are written anew, deleted or begun."""
        for name in [*self.turns]:
            match self.draw.choice(("grows",) * 6 + ("anew", "goes", "rests")):
                case "grows":
                    self._write(name, self.draw.randint(1, TURNS), mode="a")
                case "anew":
                    self._write(name, self.draw.randint(1, TURNS), mode="w")
                case "goes":
                    (self.transcripts / name).unlink()
                    del self.turns[name]
        while len(self.turns) < TRANSCRIPTS:
            self._write(f"{self.draw.getrandbits(64):016x}.jsonl", TURNS, mode="w")
        if self.draw.random() < LOST_SHARE:
            for file in self.folder.glob("l.sqlite*"):
                file.unlink()

    def _write(self, name: str, turns: int, *, mode: str) -> None:
        first = self.turns.get(name, 0) if mode == "a" else 0
        with (self.transcripts / name).open(mode) as file:
            file.writelines(_turn(number, name) for number in range(first, first + turns))
        self.turns[name] = first + turns

    def kill(self) -> None:
        """Begin an export and kill it."""
        command = [sys.executable, "-c", RUN, json.dumps(asdict(self.job))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            assert run.stdout.readline() == "begins\n"
            try:
                run.wait(self.draw.uniform(*DELAY_S))
                self.finished += 1
            except subprocess.TimeoutExpired:
                run.kill()
                self.kills += 1
        self._look("after a kill")

    def end(self) -> None:
        """Let one run end, and see that nothing is missing, nothing is left and nothing is done twice."""
        export_sessions(self.job)
        self._look("at the end")
        names = {file.name for file in self.exports.iterdir()}
        if names != {"note.md"} | {f"{Path(name).stem}.md" for name in self.turns}:
            self.faults.append("at the end: other files than the sessions'")
        for name, turns in self.turns.items():
            if len(self._said(Path(name).stem)) != turns:
                self.faults.append(f"at the end: {name} has not all its turns")
        if export_sessions(self.job).read_bytes:
            self.faults.append("at the end: something was read again")

    def _look(self, when: str) -> None:
        if (self.exports / "note.md").read_text() != NOTE:
            self.faults.append(f"{when}: somebody else's note changed")
        for file in self.exports.glob("*.md"):
            if file.name != "note.md":
                said = self._said(file.stem)
                if not said or said != [(number, f"{file.stem}.jsonl") for number in range(len(said))]:
                    self.faults.append(f"{when}: {file.name} is not whole")

    def _said(self, stem: str) -> list[tuple[int, str]]:
        text = (self.exports / f"{stem}.md").read_text(encoding="utf-8")
        whole = text.startswith(f"# Session {stem}\n") and text.endswith(" end\n")
        return [(int(number), name) for number, name in TURN.findall(text)] if whole else []


def _turn(number: int, name: str) -> str:
    content = f"turn {number} of {name} {'word ' * 100} end"
    message = {"role": "user", "content": content}
    return json.dumps({"type": "message", "timestamp": "2026-11-27T10:00:00Z", "message": message}) + "\n"


def storm(folder: Path, *, kills: int, seed: int) -> Storm:
    """One run of so many kills; exports that ended before their kill do not count."""
    chaos = Storm(folder, random.Random(seed))
    for _ in _until(chaos, kills):
        chaos.change()
        chaos.kill()
    chaos.end()
    return chaos


def _until(chaos: Storm, kills: int) -> Iterator[None]:
    for _ in range(20 * kills):
        if chaos.kills >= kills:
            return
        yield


def main() -> int:
    """Run, print what was seen, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        chaos = storm(Path(folder), kills=options.kills, seed=options.seed)
    print(f"{chaos.kills} exports killed, {chaos.finished} ended before, seed {options.seed}")
    for fault in chaos.faults:
        print(f"  BROKEN    {fault}")
    return 1 if chaos.faults or chaos.kills < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
