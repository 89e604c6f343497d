"""The examination without a daemon, in the process of whoever asks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from sidecar.config import inspect
from sidecar.doctor.catalogue import CheckId, report_json, result_json, skipped_json
from sidecar.doctor.checks import CHECKS
from sidecar.doctor.checks.configuration import told
from sidecar.doctor.examining import examine
from sidecar.doctor.subject import Subject

THREADS = 4


def examine_here(
    config: Path | None, state_dir: Path | None, socket: Path | None, chosen: Collection[CheckId], *, fix: bool
) -> dict[str, Any]:
    """Run the chosen checks in this process and its environment; those that need a daemon are skipped.

    Of a configuration that cannot be read there is nothing else to say.
    """
    settings, remarks = inspect(config, environ=os.environ, state_dir=state_dir, socket=socket)
    if settings is None:
        unread = [told(remark, str(config)) for remark in remarks]
        results = [
            result_json(check.id, unread, []) if check.id == "configuration" else skipped_json(check.id)
            for check in CHECKS
            if check.id in chosen
        ]
        return report_json(results, running=False)
    pool = ThreadPoolExecutor(THREADS, thread_name_prefix="doctor")
    subject = Subject(settings=settings, environ=os.environ, pool=pool)
    try:
        return asyncio.run(examine(subject, chosen, fix=fix))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
