"""Where one agent's qmd lives, how it is set up, and the surroundings its children get."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from backends.base import Mode
from backends.passages.ordering import Ranking
from backends.qmd.child import Surroundings

#: How long a reader waits for SQLite's lock. The default of qmd is two minutes, far beyond a search's deadline.
READ_BUSY_TIMEOUT_MS = 1_500
#: Writers run under deadlines of minutes and are serialised by us; this only meets a person's own `qmd`.
WRITE_BUSY_TIMEOUT_MS = 20_000

MODEL_VARIABLES = ("QMD_EMBED_MODEL", "QMD_RERANK_MODEL", "QMD_GENERATE_MODEL")
#: Marks every child with the state folder of its daemon, so that one that was left behind can be told from others.
STATE_VARIABLE = "QMD_SIDECAR_STATE"

_ALLOWED = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TMP", "TEMP"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "HF_ENDPOINT", "HF_TOKEN"),
        *("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "BUN_INSTALL"),
        *(*MODEL_VARIABLES, "QMD_EMBED_PARALLELISM"),
        *("QMD_FORCE_CPU", "QMD_LLAMA_GPU", "QMD_METAL_KEEP_RESIDENCY"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdHome:
    """The private folders of one agent's qmd.

    `config` and `cache` are its XDG folders, `work` an empty working directory (a `.qmd/index.yml` in or
    above it would override everything), `models` the folder of models that all agents share, `state` the
    state folder of the daemon, which marks its children.
    """

    config: Path
    cache: Path
    work: Path
    models: Path | None = None
    state: Path | None = None

    @property
    def index_yml(self) -> Path:
        """The list of collections that qmd reads."""
        return self.config / "qmd" / "index.yml"

    @property
    def updating_yml(self) -> Path:
        """The list that an update reads instead, while some collections must not be looked at."""
        return self.config / "updating" / "index.yml"

    @property
    def ledger(self) -> Path:
        """What we remember between runs about this index."""
        return self.config / "sidecar.json"

    @property
    def index(self) -> Path:
        """The database that qmd keeps."""
        return self.cache / "qmd" / "index.sqlite"

    def prepare(self) -> None:
        """Make the folders (0700) and the link to the shared models. Safe to repeat."""
        for folder in (
            self.config,
            self.index_yml.parent,
            self.updating_yml.parent,
            self.cache,
            self.cache / "qmd",
            self.work,
        ):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self.models is not None:
            _link(self.cache / "qmd" / "models", self.models)

    def surroundings(
        self, environ: Mapping[str, str], *, busy_timeout_ms: int = READ_BUSY_TIMEOUT_MS, updating: bool = False
    ) -> Surroundings:
        """The allow-listed environment and the working directory of a child; `updating` chooses the other list."""
        kept = {name: value for name, value in environ.items() if _is_allowed(name)}
        # No `CI`: qmd then refuses every search by meaning ("LLM operations are disabled in CI").
        own = {"QMD_SQLITE_BUSY_TIMEOUT": str(busy_timeout_ms), "NO_COLOR": "1"}
        mark = {STATE_VARIABLE: str(self.state)} if self.state is not None else {}
        other = {"QMD_CONFIG_DIR": str(self.updating_yml.parent)} if updating else {}
        return Surroundings(environment=kept | self.folders() | own | mark | other, folder=self.work)

    def folders(self) -> dict[str, str]:
        """The variables that decide which index a qmd uses."""
        return {
            "XDG_CONFIG_HOME": str(self.config),
            "XDG_CACHE_HOME": str(self.cache),
            "QMD_CONFIG_DIR": str(self.index_yml.parent),
        }


def agent_environment(home: QmdHome, environ: Mapping[str, str]) -> dict[str, str]:
    """The exports that let a person's own qmd use an agent's index: its folders, and the models that it was built with.

    The mark of the daemon's children is not among them: what a person starts is never swept.
    """
    models = {name: environ[name] for name in MODEL_VARIABLES if environ.get(name)}
    return home.folders() | models


@dataclass(frozen=True, slots=True, kw_only=True)
class QmdOptions:
    """How to use qmd. `command` is a name or a path, without arguments; `rerank` counts in `query` mode only."""

    command: str = "qmd"
    mode: Mode = Mode.SEARCH
    rerank: bool | str = "auto"
    command_timeout_s: float = 10
    update_timeout_s: float = 120
    embed_timeout_s: float = 600
    resident: bool = True
    ranking: Ranking = field(default_factory=Ranking)


def _is_allowed(name: str) -> bool:
    return name in _ALLOWED or name.startswith("LC_") or (name.startswith("QMD_") and name.endswith("_CONTEXT_SIZE"))


def _link(link: Path, target: Path) -> None:
    # The link is made although its target may not exist yet: the first download then lands in the
    # shared folder. A folder that a person put there is left alone.
    with contextlib.suppress(OSError):
        target.mkdir(parents=True, exist_ok=True)
    if link.is_symlink() and link.readlink() == target:
        return
    if link.is_symlink():
        link.unlink()
    if not link.exists():
        link.symlink_to(target)
