"""A qmd to be run by tests: a real program with a tiny honest engine, told to misbehave verb by verb.

    fake = FakeQmd.install(tmp_path)        # writes an executable `qmd` into tmp_path/bin
    environ = fake.environ()                # PATH that finds it first
    fake.behave(search="hang", mcp="hang")  # from the next call on; `fake.behave()` is honest again
    fake.calls()                            # every start: verb, argv, cwd, pid, and the environment it saw

It reads `index.yml` from QMD_CONFIG_DIR, `update` takes a snapshot of the files into XDG_CACHE_HOME/qmd/index.sqlite
(JSON, in truth), and `search`, `query` and `mcp` find words in that snapshot: all words of a `search` line,
any of several `lex` lines. A running `mcp` looks up its behaviour at every call.

Behaviours, for `version search query vsearch update embed mcp`:
  honest        as qmd would
  hang          say nothing, ignore SIGTERM, start a grandchild that holds the pipes, never end
  exit          end with status 1 and an error on standard error
  garbage       print something that is no JSON
  flood         print 6 MiB of noise, then end with status 0
  locked        "database is locked", status 1
  abi           the text of a native module built for another Node, status 1
  crash_after   answer in full, then end with status 134
  truncated     half of the answer; for mcp half of a line, then the end
  nothing       "No results found." in plain text
  noise         log lines with brackets and colours, then the answer
  skipping      "Another embed process is already running. Skipping."
  notfound      "Collection not found: x", status 1
  foreign       an answer with one more row, of a collection that is nobody's
  unique        "UNIQUE constraint failed", status 1, as long as the index is there; honest without one
  damaged       the text of a database that is not one, status 1
  silent        for mcp: introduce itself, then answer no call
  slow          half a second of nothing, then honest
  loading       for mcp: the first search by meaning loads a model, and nothing else is answered for four seconds
"""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VERSION = "2.8.3"
SLOW_S = 0.5
FOREIGN = {"docid": "#f0f0f0", "score": 1, "file": "private/secret.md", "line": 1, "snippet": ""}


@dataclass(frozen=True)
class FakeQmd:
    """An installed fake: `path` is the executable."""

    path: Path

    @classmethod
    def install(cls, folder: Path, *, version: str = VERSION) -> FakeQmd:
        """Write the executable into `folder/bin/qmd`."""
        path = folder / "bin" / "qmd"
        path.parent.mkdir(parents=True, exist_ok=True)
        body = f"#!{sys.executable} -S\nimport sys\nsys.path[:0] = {sys.path!r}\nfrom runpy import run_path\n"
        body += f"run_path({str(Path(__file__).resolve())!r})['play'](sys.argv, {version!r})\n"
        path.write_text(body)
        path.chmod(0o755)
        return cls(path)

    def behave(self, **verbs: str) -> None:
        """Set what each verb does; the ones that are not named are honest."""
        fresh = self.path.with_name("behaviour.new")
        fresh.write_text(json.dumps(verbs))
        fresh.replace(self.path.with_name("behaviour.json"))

    def calls(self, verb: str | None = None) -> list[dict[str, Any]]:
        """Every start so far, of one verb or of all."""
        try:
            lines = self.path.with_name("calls.ndjson").read_text().splitlines()
        except FileNotFoundError:
            return []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if verb in (None, call["verb"])]

    def environ(self) -> dict[str, str]:
        """An environment that finds this qmd first, and the system's own programs."""
        return {"PATH": f"{self.path.parent}:{os.defpath}", "HOME": str(self.path.parent)}


def play(argv: list[str], version: str) -> None:
    """Be qmd: called by the executable with its arguments."""
    folder = Path(argv[0]).resolve().parent
    verb = "version" if argv[1:2] == ["--version"] else argv[1]
    seen = dict(os.environ)
    call = {"verb": verb, "argv": argv[1:], "cwd": str(Path.cwd()), "pid": os.getpid(), "environment": seen}
    with (folder / "calls.ndjson").open("a") as log:
        log.write(json.dumps(call) + "\n")
    behaviour = behaviour_of(folder, verb)
    if verb == "mcp":
        serve(folder, version)
    misbehave(behaviour)
    text = {"version": lambda: f"qmd {version} (fake)\n", "update": update, "embed": embed, "cleanup": str}.get(
        verb, lambda: ask(verb, argv)
    )()
    say(text, behaviour)


def behaviour_of(folder: Path, verb: str) -> str:
    try:
        return json.loads((folder / "behaviour.json").read_text()).get(verb, "honest")
    except FileNotFoundError:
        return "honest"


def misbehave(behaviour: str) -> None:
    """The behaviours that answer nothing at all, or late."""
    if behaviour == "slow":
        time.sleep(SLOW_S)
    if behaviour == "hang":
        hang()
    if behaviour == "flood":
        sys.stdout.write("[flood] words and words\n" * 262144)
        sys.exit(0)
    if behaviour == "unique" and database().exists():
        print("SqliteError: UNIQUE constraint failed: documents.collection, documents.path", file=sys.stderr)
        sys.exit(1)
    errors = {
        "exit": "Error: something broke inside",
        "locked": "SqliteError: database is locked\n  code: 'SQLITE_BUSY'",
        "abi": "Error: The module was compiled against NODE_MODULE_VERSION 115. ERR_DLOPEN_FAILED",
        "notfound": "Collection not found: x",
        "damaged": "SqliteError: file is not a database\n  code: 'SQLITE_NOTADB'",
    }
    if behaviour in errors:
        print(errors[behaviour], file=sys.stderr)
        sys.exit(1)
    texts = {
        "garbage": "Segmentation of [memory] was {fine}\n",
        "nothing": "No results found.\n",
        "skipping": "Another embed process is already running. Skipping.\n",
    }
    if behaviour in texts:
        print(texts[behaviour], end="")
        sys.exit(0)


@functools.cache
def load_model() -> None:
    """What a native library does: hold the whole process."""
    time.sleep(4)


def hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    while True:
        time.sleep(600)


def say(text: str, behaviour: str) -> None:
    """Print an honest answer, or what is left of it."""
    if behaviour == "noise":
        text = f"[node-llama-cpp] falling back to [cpu]\n\x1b[?25l[{{oops\nSearching...\r{text}\x1b[?25h\n[done]\n"
    if behaviour == "truncated":
        text = text[: len(text) // 2]
    if behaviour == "foreign":
        rows = json.loads(text)
        text = json.dumps([*rows, {**FOREIGN, "file": f"qmd://{FOREIGN['file']}"}])
    sys.stdout.write(text)
    sys.stdout.flush()
    if behaviour == "crash_after":
        os._exit(134)


def config() -> dict[str, dict[str, str]]:
    import yaml

    file = Path(os.environ["QMD_CONFIG_DIR"]) / "index.yml"
    return (yaml.safe_load(file.read_text()) or {}).get("collections", {}) if file.exists() else {}


def database() -> Path:
    return Path(os.environ["XDG_CACHE_HOME"]) / "qmd" / "index.sqlite"


def documents() -> dict[str, dict[str, str]]:
    try:
        return json.loads(database().read_text())
    except FileNotFoundError:
        return {}


def update() -> str:
    held, lines = documents(), []
    for name, entry in config().items():
        top, before = Path(entry["path"]), held.get(name, {})
        files = sorted(path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
        after = {
            str(path.relative_to(top)): path.read_text(errors="replace")
            for path in files
            if fits(str(path.relative_to(top)), entry["pattern"])
        }
        new = len(after.keys() - before.keys())
        same = sum(before.get(path) == text for path, text in after.items())
        gone = len(before.keys() - after.keys())
        lines.append(f"Collection: {top} ({entry['pattern']})\n")
        lines.append(f"Indexed: {new} new, {len(after) - new - same} updated, {same} unchanged, {gone} removed\n")
        held[name] = after
    replace(database(), json.dumps(held))
    return "".join(lines)


def replace(file: Path, text: str) -> None:
    """Write as a database does: a kill in the middle leaves the old content."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(file)


def fits(path: str, pattern: str) -> bool:
    return fnmatch.fnmatch(path, pattern.replace("**/", "*"))


def embed() -> str:
    count = sum(map(len, documents().values()))
    return f"Done! Embedded {count} chunks from {count} documents in 1s\n"


def ask(verb: str, argv: list[str]) -> str:
    at = argv.index("--")
    names = [argv[index + 1] for index in range(at) if argv[index] == "-c"]
    unknown = [name for name in names if name not in config()]
    if unknown:
        print(f"Collection not found: {unknown[0]}", file=sys.stderr)
        sys.exit(1)
    text = " ".join(argv[at + 1 :])
    lines = [line.partition(": ")[2] for line in text.splitlines()] if verb == "query" else [text]
    rows = find(lines, names)
    return json.dumps([{**row, "file": f"qmd://{row['file']}"} for row in rows], indent=2) + "\n"


def find(lines: list[str], names: list[str]) -> list[dict[str, Any]]:
    """Files where every word of any of the lines stands."""
    rows = []
    for name, files in documents().items():
        for path, text in files.items():
            hits = [line for line in lines if line and all(word in text.casefold() for word in line.casefold().split())]
            if hits and name in names:
                rows.append(
                    {"docid": "#abc123", "score": len(hits), "file": f"{name}/{path}", "line": 1, "snippet": ""}
                )
    return sorted(rows, key=lambda row: -row["score"])


def serve(folder: Path, version: str) -> None:
    """Speak newline-delimited JSON-RPC until end of input."""
    misbehave(behaviour_of(folder, "mcp"))
    print("[fake] loaded {things}", flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = reply(message, folder, version)
            answer(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), folder)
    sys.exit(0)


def answer(line: str, folder: Path) -> None:
    """Say one line of the protocol, with noise around it or only half of it."""
    behaviour = behaviour_of(folder, "mcp")
    if behaviour == "noise":
        print("[node-llama-cpp] falling back to [cpu]\n{oops", flush=True)
    if behaviour == "truncated":
        print(line[: len(line) // 2], end="", flush=True)
        sys.exit(1)
    print(line, flush=True)


def reply(message: dict[str, Any], folder: Path, version: str) -> dict[str, Any]:
    if message["method"] == "initialize":
        return {"serverInfo": {"name": "qmd", "version": version}, "protocolVersion": "2025-06-18"}
    if message["method"] == "tools/list":
        schema = {"properties": {"searches": {}, "limit": {}, "collections": {}, "rerank": {}}}
        return {"tools": [{"name": "query", "inputSchema": schema}, {"name": "status"}]}
    behaviour = behaviour_of(folder, "mcp")
    if behaviour == "silent":
        hang()
    misbehave(behaviour)
    arguments = message["params"]["arguments"]
    if message["params"]["name"] == "status":
        entries = [
            {
                "name": name,
                "path": entry["path"],
                "pattern": entry["pattern"],
                "documents": len(documents().get(name, {})),
            }
            for name, entry in config().items()
        ]
        return {"structuredContent": {"totalDocuments": sum(map(len, documents().values())), "collections": entries}}
    if behaviour == "loading" and any(search["type"] == "vec" for search in arguments["searches"]):
        load_model()
    lines = [search["query"] for search in arguments["searches"]]
    rows = find(lines, arguments["collections"])
    return {"structuredContent": {"results": [*rows, FOREIGN] if behaviour == "foreign" else rows}}
