"""The examination: every check within a deadline of its own, one that breaks says so and takes no other along."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import Any

from sidecar.doctor.catalogue import CheckId, Code, Finding, report_json, result_json, skipped_json
from sidecar.doctor.checks import CHECKS
from sidecar.doctor.subject import Check, Subject

log = logging.getLogger(__name__)

#: Longer than a search may take, and than a provider is waited for.
DEADLINE_S = 20.0


async def examine(subject: Subject, chosen: Collection[CheckId], *, fix: bool = False) -> dict[str, Any]:
    """Run the chosen checks side by side; `fix` also mends what is safe to mend, and looks again."""
    checks = [check for check in CHECKS if check.id in chosen]
    results = await asyncio.gather(*(_result(check, subject, fix=fix) for check in checks))
    return report_json(list(results), running=subject.live is not None)


async def _result(check: Check, subject: Subject, *, fix: bool) -> dict[str, Any]:
    if check.needs_daemon and subject.live is None:
        return skipped_json(check.id)
    findings = await _findings(check, subject)
    fixed = await _mended(findings, subject) if fix else []
    return result_json(check.id, await _findings(check, subject) if fixed else findings, fixed)


async def _findings(check: Check, subject: Subject) -> list[Finding]:
    try:
        async with asyncio.timeout(DEADLINE_S):
            return await check.run(subject)
    except TimeoutError:
        return [_failed(check, f"did not end within {DEADLINE_S:g} s")]
    except Exception as error:
        log.warning("check failed", exc_info=True, extra={"fields": {"check": check.id}})
        return [_failed(check, f"broke ({type(error).__name__}); the log of whoever looked tells more")]


def _failed(check: Check, how: str) -> Finding:
    return Code.CHECK_FAILED.found(f"the check {check.id} {how}", check=check.id)


async def _mended(findings: list[Finding], subject: Subject) -> list[str]:
    loop = asyncio.get_running_loop()
    told = []
    for mend in (finding.mend for finding in findings if finding.mend):
        try:
            told.append(await loop.run_in_executor(subject.pool, mend))
        except OSError as error:
            told.append(f"could not mend: {error.strerror or type(error).__name__}")
    return [text for text in told if text]
