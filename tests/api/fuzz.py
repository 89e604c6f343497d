"""Every route is asked what its schema allows and what it forbids, and each answer is held against the schema.

    python -m tests.api.fuzz [--requests 10000] [--seed 20260211]

The promise: no crash, no status or code that is not documented, and no field of a reply that is not.
"""

from __future__ import annotations

import argparse
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

from tests.api.stage import AGENT, stage
from tests.api.strict import strict_document
from tests.api.unix import TIMEOUT_S, session
from tests.running import Running

SEED = 20260211
HOST = "http://localhost"
#: It would end what is being asked.
LEFT_OUT = "/v1/shutdown"
#: A body that is too large is refused before anybody looks at what is in it.
CONFIG = schemathesis.Config.from_dict(
    {"checks": {"negative_data_rejection": {"expected-statuses": [400, 404, 405, 413]}}}
)
#: Bodies have more to try than the rest of a request.
BODY_WEIGHT = 12
#: Values of fields that lead past the door, where what is drawn at random does not.
KNOWN = {
    "memory_search": {"sessionKey": "agent:main:main", "query": "when does the boat leave?"},
    "memory_get": {"sessionKey": "agent:main:main", "path": "memory/2026-02-10.md"},
}


@dataclass
class Fuzz:
    """What was asked, by operation and status, and each kind of fault once."""

    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: dict[tuple[str, str], str] = field(default_factory=dict)

    def table(self) -> str:
        """One line for each operation and status."""
        rows = [f"  {number:>6}  {status}  {label}" for (label, status), number in sorted(self.counts.items())]
        return "\n".join([*rows, f"  {self.counts.total():>6}  requests, {len(self.faults)} kinds of faults"])

    def ask(self, case: Case, wire: requests.Session) -> None:
        """Ask one thing, and judge the answer."""
        response = case.call(base_url=HOST, session=wire, timeout=TIMEOUT_S)
        self.counts[case.operation.label, response.status_code] += 1
        try:
            case.validate_response(response, transport_kwargs={"session": wire, "base_url": HOST})
        except FailureGroup as group:
            for failure in group.exceptions:
                told = f"{failure}\n{case.method} {case.formatted_path} {case.query} {case.headers} {case.body!r}"
                self.faults.setdefault((case.operation.label, type(failure).__name__), told[:2000])


def _fuzzed_document() -> dict[str, Any]:
    """The strict document, in which one agent is known to be there."""
    strict = strict_document()
    for path in strict["paths"].values():
        for operation in path.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    parameter["schema"] = {"anyOf": [{"const": AGENT}, parameter["schema"]]}
    return strict


def fuzz(daemon: Running, *, number: int, seed: int) -> Fuzz:
    """Ask about everything at the edges of the schema once, and about what is drawn at random up to `number`."""
    schema = schemathesis.openapi.from_dict(_fuzzed_document(), config=CONFIG).exclude(path=LEFT_OUT)
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
    """Cases drawn at random, the same for the same seed; of what has a body, half are forbidden."""
    if not operation.body:
        return _of(operation.as_strategy(), number, seed)
    agent = {"id": AGENT} if operation.path_parameters else None
    allowed, forbidden = (operation.as_strategy(mode, path_parameters=agent) for mode in GenerationMode)
    known = KNOWN.get(Path(operation.path).name, {})
    some = strategies.fixed_dictionaries({}, optional={name: strategies.just(value) for name, value in known.items()})
    half = number // 2
    return [*_of(strategies.builds(_knowing, allowed, some), number - half, seed), *_of(forbidden, half, seed)]


def _knowing(case: Case, known: dict[str, str]) -> Case:
    if isinstance(case.body, dict):
        case.body = {**case.body, **known}
    return case


def _of(strategy: SearchStrategy[Case], number: int, seed: int) -> list[Case]:
    cases: list[Case] = []

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

    if number:
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
