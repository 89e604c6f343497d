"""Every call that the daemon takes, as a value: both clients have one method for each.

The shapes of replies are those of the gateway, known to type checkers alone: importing them costs more than a search.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, Unpack
from urllib.parse import quote

from sidecar.client import asked
from sidecar.client.wire import NonsenseError, as_object

if TYPE_CHECKING:
    from sidecar.gateway import replies
    from sidecar.gateway.replies.agents import AgentSummary

Answer = TypeVar("Answer")


# A dataclass would load `inspect`, which makes up a third of the import.
class Call(NamedTuple, Generic[Answer]):
    """What is sent, and how the reply is read. `is_read`: it changes nothing, so that it may be sent twice."""

    method: str
    path: str
    body: bytes | None
    read: Callable[[bytes], Answer]
    is_read: bool


def info() -> Call[replies.Info]:
    """The process: version, pid, folders."""
    return _get("/v1/info")


def daemon_status(*, deep: bool = False) -> Call[replies.DaemonStatus]:
    """The state of the daemon with all its agents; `deep` tries their embedding providers, too."""
    return _get(f"/v1/status{_flag('deep', deep)}")


def agent_status(agent: str, *, deep: bool = False) -> Call[replies.AgentStatus]:
    """The state of one agent; `deep` tries its embedding providers, too."""
    return _get(f"{_agent(agent)}/status{_flag('deep', deep)}")


def agents() -> Call[list[AgentSummary]]:
    """The configured agents: `{id, workspace, backend, state}` each."""
    return _get("/v1/agents", _listed)


def environment(agent: str) -> Call[dict[str, str]]:
    """The variables that let a person's own qmd use an agent's index. `RefusedError` when it has no qmd."""
    return _get(f"{_agent(agent)}/env", _variables)


def search(agent: str, **body: Unpack[asked.Search]) -> Call[replies.SearchReply]:
    """`memory_search`."""
    return _post(f"{_agent(agent)}/memory_search", body, is_read=True)


def get(agent: str, **body: Unpack[asked.Get]) -> Call[replies.GetReply]:
    """`memory_get`."""
    return _post(f"{_agent(agent)}/memory_get", body, is_read=True)


def triggers(agent: str, **body: Unpack[asked.Triggers]) -> Call[replies.TriggersReply]:
    """What a message brings to mind."""
    return _post(f"{_agent(agent)}/triggers", body, is_read=True)


def session_start(agent: str, **body: Unpack[asked.Reader]) -> Call[replies.SessionStartReply]:
    """What a session that begins may load; it may queue a sync."""
    return _post(f"{_agent(agent)}/session_start", body)


def flush(agent: str, **body: Unpack[asked.Flush]) -> Call[replies.FlushReply]:
    """`memory_flush`: whether to have memory written down before a compaction; a yes counts as given."""
    return _post(f"{_agent(agent)}/memory_flush", body)


def flush_plan(agent: str) -> Call[replies.FlushPlan]:
    """When and with which words an agent's sessions are reminded to write down what matters."""
    return _get(f"{_agent(agent)}/memory_flush/plan")


def flush_result(agent: str, **body: Unpack[asked.FlushResult]) -> Call[replies.FlushResultReply]:
    """How the flush went that `flush` asked for."""
    return _post(f"{_agent(agent)}/memory_flush/result", body)


def sync(agent: str, **body: Unpack[asked.Sync]) -> Call[replies.SyncReply]:
    """Bring an agent's indexes up to date."""
    return _post(f"{_agent(agent)}/sync", body)


def explain_scope(**body: Unpack[asked.Explain]) -> Call[replies.Explanation]:
    """Whether a session may read, and why."""
    return _post("/v1/scope/explain", body, is_read=True)


def export(agent: str, **body: Unpack[asked.Export]) -> Call[replies.ExportReply]:
    """Export an agent's conversations; a reply without `export` says why not."""
    return _post(f"{_agent(agent)}/export", body)


def purge(agent: str, **body: Unpack[asked.Purge]) -> Call[replies.PurgeReply]:
    """Have conversations forgotten; a reply without `purge` says why not."""
    return _post(f"{_agent(agent)}/purge", body)


def doctor(**body: Unpack[asked.Doctor]) -> Call[replies.DoctorReply]:
    """Have the daemon examine itself."""
    return _post("/v1/doctor", body)


def metrics() -> Call[str]:
    """What is measured, in the text form of Prometheus."""
    return _get("/metrics", _text)


def events(*, after: int | None = None, once: bool = False) -> Call[Any]:
    """What happens; its reply is read line by line."""
    flags = [*([] if after is None else [f"after={after}"]), *(["once=true"] if once else [])]
    return _get(f"/v1/events?{'&'.join(flags)}")


def reload() -> Call[replies.ReloadReply]:
    """Have the daemon read its configuration again. `RefusedError` (`configuration`) when that is wrong."""
    return _post("/v1/reload", {})


def shutdown() -> Call[replies.Stopping]:
    """Ask the daemon to drain and stop; it answers before it does."""
    return _post("/v1/shutdown", {})


def call(method: str, path: str, body: Mapping[str, Any] | None = None) -> Call[dict[str, Any]]:
    """Any other request that is answered with an object."""
    sent = None if body is None else {key: _spelt(value) for key, value in body.items() if value is not None}
    return Call(method, path, None if sent is None else json.dumps(sent).encode(), as_object, method == "GET")


def _get(path: str, read: Callable[[bytes], Any] = as_object) -> Call[Any]:
    return call("GET", path)._replace(read=read)


def _post(path: str, body: Mapping[str, Any], *, is_read: bool = False) -> Call[Any]:
    return call("POST", path, body)._replace(is_read=is_read)


def _agent(agent: str) -> str:
    """The path of one agent; an id may hold any character, bytes of a command line, and halves of characters."""
    try:
        raw = agent.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        raw = agent.encode(errors="surrogatepass")
    return f"/v1/agents/{quote(raw, safe='')}"


def _spelt(value: Any) -> Any:
    """A value that JSON can carry: of a command line, bytes that its locale cannot spell arrive as half characters."""
    if not isinstance(value, str) or value.isascii():
        return value
    with contextlib.suppress(UnicodeEncodeError):  # other half characters are the caller's own, and refused
        return value.encode(errors="surrogateescape").decode(errors="replace")
    return value


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _flag(name: str, is_on: bool) -> str:
    return f"?{name}=true" if is_on else ""


def _listed(raw: bytes) -> list[Any]:
    agents = as_object(raw).get("agents")
    return agents if isinstance(agents, list) else []


def _variables(raw: bytes) -> dict[str, str]:
    variables = as_object(raw).get("environment")
    if not isinstance(variables, dict):
        raise NonsenseError("the reply holds no environment")
    return {str(name): str(value) for name, value in variables.items()}
