"""A `qmd` that asks the running daemon, and hands over to the real qmd whatever the daemon cannot answer.

`sidecar.shim.rendered` makes an executable file of this one. Starting is what costs, so only what loads in a few
milliseconds is imported, all of it of the standard library: no `typing`, no `dataclasses`, no `http.client`.
"""

# No `from __future__` here: below the line that may stand on top of the rendered file it is a syntax error.
import json
import os
import re
import socket
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, NoReturn

MODES = ("search", "vsearch", "query")
#: Flags that choose a format, in the order in which qmd looks at them.
FORMATS = ("csv", "md", "xml", "files", "json")
_FLAGS = ("--full", *(f"--{name}" for name in FORMATS))
_VALUES = {"-n": "n", "-c": "collection", "--collection": "collection", "--min-score": "min", "--format": "format"}
#: Syntax of qmd in what the daemon takes for plain words: a word that must not occur, a line of a query document.
_NEGATED = r'(?:^|\s)-["\w]'
_TYPED = r"(?im)^\s*(?:lex|vec|hyde|intent|expand):"
#: As many as the daemon gives at once.
MOST = 50
#: For a daemon that does not keep its own deadline.
TIMEOUT_S = 15.0
#: Only the daemon's children have this. Were they answered by the daemon, it would ask itself in a circle.
_CHILD = "QMD_SIDECAR_STATE"
_READING = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY


class HandOver(Exception):  # noqa: N818 - nothing went wrong
    """The real qmd is to answer."""


class Denied(Exception):  # noqa: N818 - it is an answer
    """Scope denies it: an answer, which another qmd must not get around."""


class Asked:
    """What a command line asks. Raises `HandOver` for what only the real qmd knows."""

    def __init__(self, arguments: "Sequence[str]") -> None:
        flags, values, words = parsed(arguments)
        self.mode = words[0] if words else ""
        self.query = " ".join(words[1:])
        self.full = "full" in flags
        self.format = format_of(flags, values["format"])
        self.collections = values["collection"]
        self.limit = whole(values["n"][-1]) if values["n"] else 20 if self.format in {"files", "json"} else 5
        self.min_score = share(values["min"][-1]) if values["min"] else None
        if self.mode not in MODES or not self.query.strip() or is_syntax(self.mode, self.query):
            raise HandOver


def parsed(arguments: "Sequence[str]") -> "tuple[set[str], dict[str, list[str]], list[str]]":
    """Flags, values by option, and words; as Node's `parseArgs`, but an option that is not known raises `HandOver`."""
    flags: set[str] = set()
    values: dict[str, list[str]] = {name: [] for name in _VALUES.values()}
    words: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        option, equals, value = argument.partition("=")
        if argument == "--":
            words += rest
        elif argument == "-" or not argument.startswith("-"):
            words.append(argument)
        elif argument in _FLAGS:
            flags.add(argument[2:])
        elif argument in _VALUES or (equals and option in _VALUES and option.startswith("--")):
            values[_VALUES[option]].append(value if equals else next(rest, ""))
        else:
            raise HandOver
    return flags, values, words


def format_of(flags: "set[str]", named: "Sequence[str]") -> str:
    """The form of the output: `--format` wins over the flags, `cli` is for people."""
    if not named:
        return next((name for name in FORMATS if name in flags), "cli")
    if named[-1] not in (*FORMATS, "cli"):
        raise HandOver
    return named[-1]


def whole(text: str) -> int:
    """A number of rows; qmd has meanings of its own for 0, for `6x` and for none."""
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", text, re.ASCII):
        raise HandOver
    return int(text)


def share(text: str) -> float:
    """A score from 0 to 1."""
    if not re.fullmatch(r"0|1|[01]?\.[0-9]{1,9}", text, re.ASCII) or float(text) > 1:
        raise HandOver
    return float(text)


def is_syntax(mode: str, query: str) -> bool:
    """Whether a query says something to qmd that is only words to the daemon."""
    return re.search(_NEGATED if mode == "search" else _TYPED, query) is not None


class Daemon:
    """One connection to the running daemon. Raises `HandOver` for everything but a reply that went well."""

    def __init__(self, sockets: "Sequence[str]") -> None:
        for path in sockets:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(TIMEOUT_S)
            try:
                self._socket.connect(path)
            except OSError:
                self._socket.close()
            else:
                self._replies = self._socket.makefile("rb")
                return
        raise HandOver

    def close(self) -> None:
        """Let go of the daemon."""
        self._replies.close()
        self._socket.close()

    def get(self, path: str) -> "Any":
        """The reply to a `GET`."""
        return self._call(f"GET {path}", b"")

    def post(self, path: str, body: "Mapping[str, Any]") -> "Any":
        """The reply to a `POST`."""
        return self._call(f"POST {path}", json.dumps(body, ensure_ascii=False).encode())

    def _call(self, request: str, body: bytes) -> "Any":
        head = (
            f"{request} HTTP/1.1\r\nHost: qmd\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        status = self._replies.readline(1024).split(b" ", 2)
        length = 0
        while line := self._replies.readline(65536).strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        reply = self._replies.read(length)
        if status[1:2] != [b"200"]:
            raise HandOver
        return json.loads(reply)


def agent_of(daemon: Daemon, environ: "Mapping[str, str]") -> str:
    """The path of the agent that is meant: by name, by the index that the caller chose, or since there is one only."""
    ids = [agent["id"] for agent in daemon.get("/v1/agents")["agents"]]
    named = environ.get("SIDECAR_AGENT")
    chosen = [agent for agent in ids if agent == named] if named else _of_index(daemon, ids, environ)
    if len(chosen) != 1:
        raise HandOver
    return str(chosen[0])


def _of_index(daemon: Daemon, ids: "Sequence[str]", environ: "Mapping[str, str]") -> "Sequence[str]":
    config = environ.get("QMD_CONFIG_DIR", "")
    folder = config or os.path.join(environ.get("XDG_CONFIG_HOME", ""), "qmd")
    if os.path.isabs(folder):
        for agent in ids:
            if os.path.realpath(folder) == _index_of(daemon, agent):
                return [agent]
    # An index of one's own, or of the project around, is not the daemon's.
    return [] if config or environ.get("INDEX_PATH") or _in_project() else ids


def _index_of(daemon: Daemon, agent: str) -> "str | None":
    try:
        return os.path.realpath(str(daemon.get(f"{route(agent)}/env")["environment"]["QMD_CONFIG_DIR"]))
    except HandOver:
        return None


def _in_project() -> bool:
    """Whether qmd would take the index of a folder at or above the present one."""
    folder = os.getcwd()
    while not any(os.path.exists(os.path.join(folder, ".qmd", f"index.{end}")) for end in ("yml", "yaml")):
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)
    return True


def route(agent: str) -> str:
    """The route of an agent, whatever its id holds."""
    return "/v1/agents/" + re.sub(rb"[^A-Za-z0-9_-]", lambda found: b"%%%02X" % ord(found[0]), agent.encode()).decode()


def found(daemon: Daemon, agent: str, asked: Asked) -> "list[dict[str, Any]]":
    """Search, and the rows as qmd has them: `docid`, `score`, `file`, `line`, `title`, `text`."""
    roots = {root["name"]: root for root in daemon.get(route(agent))["roots"]}
    wanted = set(asked.collections) or {*roots}
    if not wanted <= roots.keys():
        raise HandOver
    for most in dict.fromkeys((min(2 * asked.limit, MOST), MOST)):
        reply = searched(daemon, agent, asked, most)
        rows = rows_of((result for result in reply["results"] if result["provenance"]["root"] in wanted), roots, asked)
        clipped = reply["outcome"] == "partial" or any(notice["code"] == "clipped" for notice in reply["notices"])
        if len(rows) == asked.limit or (len(reply["results"]) < most and not clipped):
            return rows
        if clipped:
            break
    if not rows or len(wanted) < len(roots):
        # What is missing may have lost its place to a collection that nobody asked for.
        raise HandOver
    return rows


def searched(daemon: Daemon, agent: str, asked: Asked, most: int) -> "dict[str, Any]":
    """The daemon's reply. More than the rows that are wanted are asked for: several passages may be of one file."""
    body = {"query": asked.query, "mode": asked.mode, "maxResults": most, "sessionKey": f"agent:{agent}:cli:qmd"}
    least = {} if asked.min_score is None else {"minScore": asked.min_score}
    reply: dict[str, Any] = daemon.post(f"{route(agent)}/memory_search", {**body, **least})
    if reply["outcome"] == "denied":
        raise Denied
    if reply["outcome"] not in {"hits", "no_match", "partial"}:
        raise HandOver
    return reply


def rows_of(
    results: "Iterator[Mapping[str, Any]]", roots: "Mapping[str, Mapping[str, Any]]", asked: Asked
) -> "list[dict[str, Any]]":
    """One row for each file, of its best passage. What is no text, or is gone, has none."""
    rows: dict[str, dict[str, Any]] = {}
    for result in results:
        root = roots[result["provenance"]["root"]]
        relative = result["path"].removeprefix(root["shown"])
        file = f"qmd://{root['name']}/{relative}"
        if len(rows) == asked.limit:
            break
        if file not in rows and "media" not in result:
            try:
                text = read(root["path"], relative)
            except OSError:
                continue
            rows[file] = row(file, text, result, asked)
    return [*rows.values()]


def read(folder: str, relative: str) -> str:
    """The text of a file, as qmd indexes it; no link below `folder` is followed."""
    opened = os.open(folder.encode(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in relative.encode().split(b"/"):
        inner = os.open(name, _READING, dir_fd=opened)
        os.close(opened)
        opened = inner
    with open(opened, "rb") as stream:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError
        return stream.read().decode("utf-8", "replace")


def row(file: str, text: str, result: "Mapping[str, Any]", asked: Asked) -> "dict[str, Any]":
    """What qmd says of a file. The snippet is the daemon's passage under the header that qmd gives to its own."""
    import hashlib  # four milliseconds, which only an answer with something in it is worth

    first, last = result["startLine"], result["endLine"]
    passage = result["snippet"].removesuffix(f"\n\nSource: {result.get('citation')}")
    after = max(0, text.count("\n") + 1 - last)
    header = f"@@ -{first},{last - first + 1} @@ ({first - 1} before, {after} after)"
    terms = asked.query.lower().split()
    matches = [sum(term in line.lower() for term in terms) for line in passage.split("\n")]
    line = first + matches.index(max(matches))
    return {
        "docid": f"#{hashlib.sha256(text.encode()).hexdigest()[:6]}",
        "score": result["score"],
        "file": file,
        "line": line,
        "title": title(text, file),
        "text": text if asked.full else f"{header}\n{passage}",
        "at": f":{line}" if max(matches) else "",
    }


def title(text: str, file: str) -> str:
    """The first heading of a note, else the name of its file."""
    heading = re.search(r"^##?\s+(.+)$", text, re.MULTILINE)
    named = heading[1].strip() if heading else ""
    if named in {"Notes", "📝 Notes"} and (second := re.search(r"^##\s+(.+)$", text, re.MULTILINE)):
        named = second[1].strip()
    name = file.rpartition("/")[2]
    return named or re.sub(r"\.[^.]+$", "", name) or name


def printed(rows: "Sequence[Mapping[str, Any]]", asked: Asked) -> str:
    """Rows in the form that was asked for, to the character as qmd prints them."""
    if not rows:
        return {"json": "[]\n", "csv": f"{CSV}\n", "xml": "<results></results>\n", "cli": "No results found.\n"}.get(
            asked.format, ""
        )
    form = {"json": as_json, "csv": as_csv, "xml": as_xml, "md": as_markdown, "files": as_files, "cli": as_text}
    return form[asked.format](rows, "body" if asked.full else "snippet")


CSV = "docid,score,file,title,context,line,snippet"


def as_json(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """A list of objects; a whole number has no decimals, as in every JSON that JavaScript writes."""
    listed = []
    for each in rows:
        score = round(each["score"], 2)
        shown = {"docid": each["docid"], "score": int(score) if score == int(score) else score}
        told = {name: each[name] for name in ("file", "line", "title")}
        listed.append({**shown, **told, **({key: each["text"]} if each["text"] else {})})
    return f"{json.dumps(listed, ensure_ascii=False, indent=2)}\n"


def as_csv(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """One record a file; no file of the daemon has a context."""
    lines = [CSV]
    for each in rows:
        file, named, text = (quoted(each[name]) for name in ("file", "title", "text"))
        lines.append(f"{each['docid']},{each['score']:.4f},{file},{named},,{each['line']},{text}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A field of a CSV record."""
    return '"{}"'.format(text.replace('"', '""')) if re.search('[,"\n]', text) else text


def as_xml(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """Elements, of whose text qmd escapes only the quotes in titles."""
    return "".join(
        f'<file docid="{each["docid"]}" name="{each["file"]}" title="{each["title"].replace(chr(34), "&quot;")}">\n'
        f"{each['text']}\n</file>\n\n"
        for each in rows
    )


def as_markdown(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """A section a file."""
    return "".join(
        f"---\n# {each['title']}\n**file:** `{each['file']}`\n**docid:** `{each['docid']}`\n\n{each['text']}\n\n"
        for each in rows
    )


def as_files(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """A line a file."""
    return "".join(f"{each['docid']},{each['score']:.2f},{each['file']}\n" for each in rows)


def as_text(rows: "Sequence[Mapping[str, Any]]", key: str) -> str:
    """For people, without colours."""
    return "\n\n".join(
        f"{each['file']}{each['at']} {each['docid']}\n"
        f"Title: {each['title']}\nScore: {each['score'] * 100:3.0f}%\n\n{each['text']}\n"
        for each in rows
    )


def others(path: str, mark: str) -> "Iterator[str]":
    """Every other executable `qmd` of a PATH; a copy of this one, or a link to it, would only come back here."""
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", "qmd")
        if not os.path.isfile(candidate) or not os.access(candidate, os.X_OK):
            continue
        try:
            with open(candidate, "rb") as stream:
                is_ours = mark.encode() in stream.read(512)
        except OSError:
            is_ours = False
        if not is_ours:
            yield candidate


def hand_over(mark: str) -> "NoReturn":
    """Become the real qmd, with the same arguments and environment; 127 where there is none."""
    import signal

    # Python ignores these two, and what is ignored stays so in the program that follows.
    for name in ("SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    for candidate in others(os.environ.get("PATH", os.defpath), mark):
        try:
            os.execv(candidate, [candidate, *sys.argv[1:]])
        except OSError as error:
            say(f"{candidate} cannot be started: {error.strerror}")
    say("this is for the real qmd, and there is none on PATH: npm install -g @tobilu/qmd")
    os._exit(127)


def say(text: str) -> None:
    """Talk to the person."""
    write(2, f"qmd (qmd-sidecar): {text}\n")


def write(descriptor: int, text: str) -> None:
    """All of a text, although a pipe takes part of it at a time."""
    left = text.encode("utf-8", "replace")
    while left:
        left = left[os.write(descriptor, left) :]


def answer(arguments: "Sequence[str]", sockets: "Sequence[str]") -> str:
    """What is to be printed. Raises `HandOver` or `Denied`."""
    if _CHILD in os.environ:
        raise HandOver
    asked = Asked([os.fsencode(argument).decode("utf-8", "replace") for argument in arguments])
    named = os.environ.get("SIDECAR_SOCKET")
    daemon = Daemon([named] if named else sockets)
    try:
        return printed(found(daemon, agent_of(daemon, os.environ), asked), asked)
    finally:
        daemon.close()


def main(sockets: "Sequence[str]", mark: str) -> "NoReturn":
    """Answer, or become the real qmd. `mark` is what files of this kind, and no others, begin with."""
    # A closed standard stream would be the next file opened: the daemon's connection, and our output its input.
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)
    try:
        text = answer(sys.argv[1:], sockets)
    except Denied:
        say("denied; `qmd-sidecar scope explain` says why")
        os._exit(1)
    except (HandOver, OSError, LookupError, TypeError, ValueError, AttributeError):
        hand_over(mark)
    try:
        write(1, text)
    except OSError:
        # Whoever read it has gone.
        os._exit(1)
    os._exit(0)
