"""Every check and every finding: what it means, how grave it is, and the one command that mends it.

    IN_USE.found("the socket is open to others", path=path)

The standard library alone: the command line shows findings of a running daemon, and names the checks, from here.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Final, Literal, TypeAlias

SCHEMA_VERSION: Final = 1

CheckId: TypeAlias = Literal[
    "daemon",
    "configuration",
    "changes",
    "folders",
    "permissions",
    "disk",
    "clock",
    "socket",
    "daemons",
    "service",
    "watching",
    "qmd",
    "models",
    "isolation",
    "collections",
    "indexes",
    "vectors",
    "embedding",
    "agents",
    "search",
]

#: What each check says when nothing is wrong, in the order in which they are shown.
TITLES: Final[Mapping[CheckId, str]] = {
    "daemon": "the daemon runs and answers",
    "configuration": "the configuration is sound",
    "changes": "nothing changed since the daemon started",
    "folders": "the folders of all notes can be read",
    "permissions": "what the daemon keeps is closed to others",
    "disk": "there is room on the disks",
    "clock": "the clock and the times of the notes agree",
    "socket": "the socket is private and in its place",
    "daemons": "no other process is in the way",
    "service": "no service ends with a logout",
    "watching": "changed files are seen at once",
    "qmd": "qmd starts from here",
    "models": "qmd has the models that its mode needs",
    "isolation": "every agent's qmd has an index of its own",
    "collections": "qmd's collections are what is configured",
    "indexes": "the indexes are whole",
    "vectors": "sqlite-vec can be loaded",
    "embedding": "notes are found by meaning, too",
    "agents": "no agent reports a problem",
    "search": "a search and a read succeed for every agent",
}


class Severity(StrEnum):
    """How grave a finding is; `rank` orders them."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for ok, more for worse."""
        return list(Severity).index(self)


#: What a mend did, in a sentence; an empty one when there was nothing left to do. Raises `OSError`.
Mend: TypeAlias = Callable[[], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong. `command` is for `sh`; `mend` does the same safely, where that can be done."""

    code: Code
    severity: Severity
    message: str
    command: str
    mend: Mend | None = None

    def to_json(self) -> dict[str, Any]:
        """`{code, severity, message, command, fixable}`."""
        return {
            "code": self.code.label,
            "severity": self.severity,
            "message": self.message,
            "command": self.command,
            "fixable": self.mend is not None,
        }


class Code(Enum):
    """Every finding: its check, its gravity, what it means, and its command; `{parts}` are quoted for the shell."""

    NOT_RUNNING = ("daemon", Severity.WARNING, "No daemon listens.", "qmd-sidecar run")
    NOT_ANSWERING = ("daemon", Severity.ERROR, "The process that holds the socket gives no answer.", "kill -9 {pid}")
    OLDER_DAEMON = (
        "daemon",
        Severity.WARNING,
        "The running daemon is of a version that cannot examine itself.",
        "qmd-sidecar stop",
    )
    CHECK_FAILED = (
        "daemon",
        Severity.ERROR,
        "A check itself broke or took too long; the message names it.",
        "qmd-sidecar doctor --only {check}",
    )
    CONFIGURATION_ERROR = (
        "configuration",
        Severity.ERROR,
        "A key of the configuration is wrong; the daemon does not start with it.",
        "${{EDITOR:-vi}} +{line} {file}",
    )
    CONFIGURATION_REMARK = (
        "configuration",
        Severity.NOTE,
        "A key of the configuration is odd, or has no effect.",
        "${{EDITOR:-vi}} +{line} {file}",
    )
    CONFIGURATION_CHANGED = (
        "changes",
        Severity.WARNING,
        "The configuration on disk is another than the one in force.",
        "qmd-sidecar reload",
    )
    RESTART_NEEDED = (
        "changes",
        Severity.WARNING,
        "A key was changed that counts from the next start on.",
        "qmd-sidecar stop && qmd-sidecar run",
    )
    PROGRAM_CHANGED = (
        "changes",
        Severity.WARNING,
        "Another version was installed while the daemon ran.",
        "qmd-sidecar stop && qmd-sidecar run",
    )
    WORKSPACE_MISSING = ("folders", Severity.WARNING, "The workspace of an agent is not there.", "mkdir -p {path}")
    FOLDER_CLOSED = ("folders", Severity.ERROR, "A folder of notes is closed to the daemon.", "chmod u+rx {path}")
    OPEN_TO_OTHERS = (
        "permissions",
        Severity.WARNING,
        "Other users may look into what the daemon keeps.",
        "chmod -R go-rwx {path}",
    )
    OWNED_BY_OTHERS = (
        "permissions",
        Severity.ERROR,
        "Something that the daemon keeps belongs to another user.",
        "sudo chown -R {user} {path}",
    )
    DISK_LOW = ("disk", Severity.WARNING, "Less than 512 MB are free.", "du -xk {path} | sort -n | tail -20")
    DISK_FULL = ("disk", Severity.ERROR, "Less than 64 MB or no files are free.", "du -xk {path} | sort -n | tail -20")
    CLOCK_BEHIND = ("clock", Severity.ERROR, "The clock says a year before 2024.", "sudo timedatectl set-ntp true")
    FROM_THE_FUTURE = (
        "clock",
        Severity.WARNING,
        "Notes were written more than a day after now: the clock or their times are wrong.",
        "touch -- {files}",
    )
    SOCKET_OPEN = ("socket", Severity.ERROR, "The socket has another mode than configured.", "chmod {mode} {path}")
    SOCKET_FOLDER_OPEN = (
        "socket",
        Severity.ERROR,
        "Others may put a socket of theirs in the place of ours.",
        "chmod go-w {path}",
    )
    SOCKET_STALE = ("socket", Severity.NOTE, "A daemon that was killed left its socket.", "rm -- {path}")
    SOCKET_TAKEN = ("socket", Severity.ERROR, "The socket's path holds something else.", "mv -- {path} {path}.aside")
    SOCKET_PATH_LONG = (
        "socket",
        Severity.ERROR,
        "The socket's path is longer than the system allows.",
        "qmd-sidecar run --socket {path}",
    )
    POINTER_STALE = ("daemons", Severity.NOTE, "A daemon that was killed left its pointer file.", "rm -- {path}")
    ANOTHER_DAEMON = (
        "daemons",
        Severity.NOTE,
        "A daemon of this user on another state folder is the one that clients find.",
        "qmd-sidecar stop --state-dir {path}",
    )
    LOCK_HELD = ("daemons", Severity.ERROR, "A process holds the state folder and serves nobody.", "kill -9 {pid}")
    ORPHANS = ("daemons", Severity.WARNING, "Children of a daemon that is gone still run.", "kill -9 {pids}")
    NO_LINGER = (
        "service",
        Severity.WARNING,
        "The service ends with the last login of its user.",
        "loginctl enable-linger",
    )
    FEW_WATCHES = (
        "watching",
        Severity.WARNING,
        "There are more folders than the kernel lets this user watch.",
        "sudo sysctl -w fs.inotify.max_user_watches={number}",
    )
    FEW_INSTANCES = (
        "watching",
        Severity.WARNING,
        "The kernel gives this user no watcher.",
        "sudo sysctl -w fs.inotify.max_user_instances={number}",
    )
    QMD_MISSING = ("qmd", Severity.ERROR, "There is no qmd on the PATH.", "npm install -g @tobilu/qmd")
    QMD_ELSEWHERE = (
        "qmd",
        Severity.ERROR,
        "The shell finds a qmd that starts, and the daemon does not: its PATH is poorer.",
        "qmd-sidecar stop && qmd-sidecar run",
    )
    QMD_NOT_EXECUTABLE = ("qmd", Severity.ERROR, "The configured qmd is not executable.", "chmod +x {path}")
    QMD_INTERPRETER_MISSING = (
        "qmd",
        Severity.ERROR,
        "The program that runs qmd (node, bun) is not on the PATH.",
        "npm install -g {name}",
    )
    QMD_BROKEN = ("qmd", Severity.ERROR, "qmd is there and does not start.", "npm install -g @tobilu/qmd@latest")
    QMD_UNTRIED = (
        "qmd",
        Severity.NOTE,
        "This qmd is newer than the ones that were tried, or says no version.",
        "npm install -g @tobilu/qmd@{version}",
    )
    MODEL_MISSING = ("models", Severity.WARNING, "The mode needs a model that is not there.", "qmd pull")
    MODEL_DAMAGED = ("models", Severity.WARNING, "The file of a model is not whole.", "qmd pull --refresh")
    INDEX_SHARED = (
        "isolation",
        Severity.ERROR,
        "A link leads an agent's qmd into an index that is not its own.",
        "rm -- {path}",
    )
    COLLECTIONS_DIFFER = (
        "collections",
        Severity.WARNING,
        "qmd's list of collections is not what is configured.",
        "qmd-sidecar sync {agent} --force --wait",
    )
    INDEX_MISSING = ("indexes", Severity.WARNING, "An index is not there.", "qmd-sidecar sync {agent} --wait")
    INDEX_DAMAGED = (
        "indexes",
        Severity.ERROR,
        "An index is damaged; it is built anew from the notes.",
        "qmd-sidecar sync {agent} --force --wait",
    )
    INDEX_FOREIGN = (
        "indexes",
        Severity.ERROR,
        "The path of an index holds a file that is not ours.",
        "mv -- {path} {path}.aside",
    )
    LOG_LARGE = (
        "indexes",
        Severity.WARNING,
        "The write-ahead log of an index is larger than 64 MB.",
        "qmd-sidecar sync {agent} --force --wait",
    )
    VECTOR_EXTENSION_MISSING = (
        "vectors",
        Severity.NOTE,
        "`store.vector.extensionPath` cannot be loaded; numpy compares the vectors, with the same results.",
        "${{EDITOR:-vi}} {file}",
    )
    SQLITE_VEC_UNAVAILABLE = (
        "vectors",
        Severity.NOTE,
        "sqlite-vec cannot be loaded; numpy compares the vectors, with the same results.",
        "{python} -m pip install --force-reinstall sqlite-vec",
    )
    KEYWORDS_ONLY = (
        "embedding",
        Severity.NOTE,
        "No embedding provider: the built-in engine finds words alone.",
        "{python} -m pip install 'qmd-sidecar[static]'",
    )
    EMBEDDING_KEY_MISSING = (
        "embedding",
        Severity.WARNING,
        "The embedding provider that is named has no key; it can be given one, or be another.",
        "${{EDITOR:-vi}} +{line} {file}",
    )
    EMBEDDING_FAILS = (
        "embedding",
        Severity.ERROR,
        "The embedding provider gives no vector (looked for with `--deep`).",
        "${{EDITOR:-vi}} {file}",
    )
    AGENT_PROBLEM = (
        "agents",
        Severity.WARNING,
        "`status` shows a problem; where it names a command, that is the one.",
        "qmd-sidecar status {agent}",
    )
    SEARCH_UNAVAILABLE = (
        "search",
        Severity.ERROR,
        "No engine answers a search; when that is for the embedding provider, the command opens the configuration.",
        "qmd-sidecar sync {agent} --force --wait",
    )
    SEARCH_FALLBACK = (
        "search",
        Severity.WARNING,
        "Another engine answers than the configured one; its class of failure decides the command.",
        "qmd-sidecar sync {agent} --wait",
    )
    SEARCH_BLIND = (
        "search",
        Severity.WARNING,
        "A search for the words of a note does not find it.",
        "qmd-sidecar sync {agent} --force --wait",
    )
    READ_FAILS = ("search", Severity.ERROR, "A note that is indexed cannot be read.", "chmod u+r {path}")

    def __init__(self, check: CheckId, severity: Severity, meaning: str, command: str) -> None:
        self.check = check
        self.severity = severity
        self.meaning = meaning
        self.command = command

    @property
    def label(self) -> str:
        """The code in JSON."""
        return self.name.lower()

    def found(
        self,
        message: str,
        *,
        severity: Severity | None = None,
        command: str | None = None,
        mend: Mend | None = None,
        **parts: object,
    ) -> Finding:
        """A finding of this kind; `parts` fill the command, lists as several words."""
        quoted = {name: _quoted(part) for name, part in parts.items()}
        return Finding(
            code=self,
            severity=severity or self.severity,
            message=message,
            command=command or self.command.format(**quoted),
            mend=mend,
        )


def _quoted(part: object) -> str:
    return shlex.join(map(str, part)) if isinstance(part, list | tuple) else shlex.quote(str(part))


def result_json(check: CheckId, findings: list[Finding], fixed: list[str]) -> dict[str, Any]:
    """`{id, title, status, findings, fixed?}` of one check that ran."""
    status = max((finding.severity for finding in findings), key=lambda severity: severity.rank, default=Severity.OK)
    return {
        "id": check,
        "title": TITLES[check],
        "status": status,
        "findings": [finding.to_json() for finding in findings],
        **({"fixed": fixed} if fixed else {}),
    }


def skipped_json(check: CheckId) -> dict[str, Any]:
    """The result of a check that could not be asked here."""
    return {"id": check, "title": TITLES[check], "status": "skipped", "findings": []}


def report_json(checks: list[dict[str, Any]], *, running: bool) -> dict[str, Any]:
    """`{schemaVersion, running, checks, worst}`."""
    found = [Severity(check["status"]) for check in checks if check["status"] != "skipped"]
    worst = max(found, key=lambda severity: severity.rank, default=Severity.OK)
    return {"schemaVersion": SCHEMA_VERSION, "running": running, "checks": checks, "worst": worst}
