"""Every route is asked what its schema allows and what it forbids, and each answer is held against the schema.

    python -m tests.api.fuzz [--requests 10000] [--seed 20260211]

The promise: no crash, no status or code that is not documented, and no field of a reply that is not.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings, strategies
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.schemas import APIOperation

from sidecar.gateway.routes import JSON, OPERATIONS, Operation
from tests.api.stage import AGENT, stage
from tests.api.strict import strict_document
from tests.api.unix import TIMEOUT_S, session
from tests.running import Running

SEED = 20260211
HOST = "http://localhost"
#: It would end what is being asked, and the other one does not end.
LEFT_OUT = ["/v1/shutdown", "/v1/events"]
#: A body that is too large is refused before anybody looks at what is in it.
CONFIG = schemathesis.Config.from_dict(
    {
        "checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 413]}},
        # No schema can say that a pattern is one of RE2, and matches no empty text.
        "operations": [
            {
                "include-path": "/v1/agents/{id}/purge",
                "checks": {"positive_data_acceptance": {"expected-statuses": [200, 400, 404]}},
            }
        ],
    }
)
#: Bodies have more to try than the rest of a request.
BODY_WEIGHT = 12
#: Of so many requests one is left as it was drawn; the others lead past the door, where what is drawn does not.
STRANGER = 5
#: Who may see the memory; the last one only as somebody's sub-agent.
KEYS = ["agent:main:main", "agent:main:telegram:direct:1", "agent:main:cron:nightly", "agent:main:subagent:1"]
#: By the last word of a path: values of fields that have something to show.
KNOWN: dict[str, dict[str, list[Any]]] = {
    "memory_search": {
        "query": ["the boat to Corvo", "when does the boat leave?"],
        "after": ["2026-01-01"],
        "before": ["2026-12-31"],
        "minScore": [0, 0.2],
        "timeoutMs": [4_000],
    },
    "memory_get": {"path": ["MEMORY.md", "memory/2026-02-10.md", "memory/2026-02-10.md#L1-L3"], "from": [1, 2]},
    "triggers": {"message": ["Are there walnuts in it?", "walnuts"]},
    "memory_flush": {"contextWindow": [200_000], "totalTokens": [190_000], "workspaceAccess": ["rw"]},
    "explain": {"agent": [AGENT]},
    "doctor": {"only": [["clock", "socket"]]},
    "purge": {"session": ["s1", "agent:main:nobody"], "pattern": [None], "dryRun": [True]},
}
#: Where there is something to show, one of these fields holds it.
CONTENT = ("results", "text", "entries", "load", "flush", "rules", "export", "reports", "estimate", "agents")


@dataclass
class Fuzz:
    """What was asked, by operation and status, what had something to show, and each kind of fault once."""

    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    shown: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: dict[tuple[str, str], str] = field(default_factory=dict)

    def table(self) -> str:
        """One line for each operation and status."""
        rows = [
            f"  {number:>6}  {status}  {label}" + (f", {shown} with content" if (shown := self.shown[asked]) else "")
            for asked, number in sorted(self.counts.items())
            for label, status in [asked]
        ]
        return "\n".join([*rows, f"  {self.counts.total():>6}  requests, {len(self.faults)} kinds of faults"])

    def ask(self, case: Case, wire: requests.Session) -> None:
        """Ask one thing, and judge the answer."""
        response = case.call(base_url=HOST, session=wire, timeout=TIMEOUT_S)
        asked = case.operation.label, response.status_code
        self.counts[asked] += 1
        # A HEAD has no body, and some replies are text.
        is_json = JSON in response.headers["content-type"]
        reply = json.loads(response.content or b"{}") if is_json else {}
        self.shown[asked] += any(reply.get(name) for name in CONTENT)
        try:
            case.validate_response(response, transport_kwargs={"session": wire, "base_url": HOST})
        except FailureGroup as group:
            for failure in group.exceptions:
                told = f"{failure}\n{case.method} {case.formatted_path} {case.query} {case.headers} {case.body!r}"
                self.faults.setdefault((case.operation.label, type(failure).__name__), told[:2000])


def _exemplary_document() -> dict[str, Any]:
    """The strict document with known values as examples: edges of one field are asked with known values in the rest."""
    strict = strict_document()
    for row in OPERATIONS:
        operation = strict["paths"][row.path][row.method.lower()]
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                parameter["schema"] |= {"examples": [AGENT]}
        if row.body:
            fields = strict["components"]["schemas"][row.body.__name__]["properties"]
            for name, some in _known(row).items():
                # A default would be asked instead.
                fields[name].pop("default", None)
                fields[name] |= {"examples": some}
    return strict


def _known(row: Operation) -> dict[str, list[Any]]:
    """Known values of the fields that a route has."""
    has = {field.alias for field in row.body.model_fields.values()} if row.body else set()
    keys = {"sessionKey": KEYS, "parentSessionKey": KEYS[:2]}
    return {name: some for name, some in {**keys, **KNOWN.get(Path(row.path).name, {})}.items() if name in has}


def fuzz(daemon: Running, *, number: int, seed: int) -> Fuzz:
    """Ask about everything at the edges of the schema once, and about what is drawn at random up to `number`."""
    schema = schemathesis.openapi.from_dict(_exemplary_document(), config=CONFIG).exclude(path=LEFT_OUT)
    operations = [found.ok() for found in schema.get_all_operations()]
    run = Fuzz()
    with session(daemon.client.path) as wire:
        for case in chain.from_iterable(map(_edges, operations)):
            run.ask(case, wire)
        left, weights = max(0, number - run.counts.total()), [_weight(operation) for operation in operations]
        for operation, weight in zip(operations, weights, strict=True):
            for case in _drawn(operation, round(left * weight / sum(weights)), seed):
                run.ask(case, wire)
    return run


def _weight(operation: APIOperation) -> int:
    return BODY_WEIGHT if operation.body else 1


def _edges(operation: APIOperation) -> Iterator[Case]:
    return operation.schema.iter_coverage_cases(
        operation,
        generation_modes=list(GenerationMode),
        generation_config=operation.schema.config.generation_for(operation=operation),
    )


def _drawn(operation: APIOperation, number: int, seed: int) -> list[Case]:
    """Cases drawn at random, the same for the same seed; of what has a body, a quarter is forbidden."""
    agent = {"id": AGENT} if operation.path_parameters else None
    strangers, forbidden = number // STRANGER, number // 4 if operation.body else 0
    row = next(row for row in OPERATIONS if (row.method, row.path) == (operation.method.upper(), operation.path))
    known = strategies.fixed_dictionaries({name: strategies.sampled_from(some) for name, some in _known(row).items()})
    allowed = strategies.builds(_knowing, operation.as_strategy(path_parameters=agent), known)
    return [
        *_of(operation.as_strategy(), strangers, seed),
        *_of(allowed, number - strangers - forbidden, seed),
        *_of(operation.as_strategy(GenerationMode.NEGATIVE, path_parameters=agent), forbidden, seed),
    ]


def _knowing(case: Case, known: dict[str, Any]) -> Case:
    if isinstance(case.body, dict):
        case.body = {**case.body, **known}
    return case


def _of(strategy: SearchStrategy[Case], number: int, seed: int) -> list[Case]:
    cases: list[Case] = []
    if number == 0:
        return cases

    @seeded(seed)
    @settings(
        max_examples=number,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(case: Case) -> None:
        cases.append(case)

    draw()
    return cases


def main() -> int:
    """Run, print the table, and exit with 1 when a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    print(f"{options.requests} requests with the seed {options.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, stage(Path(folder)) as daemon:
        run = fuzz(daemon, number=options.requests, seed=options.seed)
    print(run.table())
    for (label, kind), told in run.faults.items():
        print(f"  BROKEN    {label} {kind}: {told}")
    return 1 if run.faults else 0


if __name__ == "__main__":
    sys.exit(main())
