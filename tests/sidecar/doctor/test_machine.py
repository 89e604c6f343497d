"""What this machine cannot be made to lack, asked of folders that say it does; and checks that fail themselves."""

from __future__ import annotations

import asyncio
import getpass
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sidecar.config import load
from sidecar.doctor import examining
from sidecar.doctor.catalogue import Code
from sidecar.doctor.checks.folders import room
from sidecar.doctor.checks.machine import lingering, watchable
from sidecar.doctor.subject import Check, Subject, on_disk


def codes(found: Any) -> list[Code]:
    return [finding.code for finding in found]


def limits(folder: Path, watches: int, instances: int) -> Path:
    (folder / "max_user_watches").write_text(f"{watches}\n")
    (folder / "max_user_instances").write_text(f"{instances}\n")
    return folder


@pytest.mark.parametrize(
    ("watches", "instances", "expected"),
    [
        (8_192, 128, []),
        (2_000, 128, [Code.FEW_WATCHES]),
        (8_192, 0, [Code.FEW_INSTANCES]),
        (2_000, 0, [Code.FEW_WATCHES, Code.FEW_INSTANCES]),
    ],
)
def test_folders_need_watches(tmp_path: Path, watches: int, instances: int, expected: list[Code]) -> None:
    """And room for other programs of the user."""
    assert codes(watchable(1_500, limits(tmp_path, watches, instances))) == expected


def test_a_system_without_inotify_has_no_such_limits(tmp_path: Path) -> None:
    """Nothing is said of what cannot be read."""
    assert codes(watchable(10**9, tmp_path)) == []


def test_a_user_unit_needs_a_user_who_lingers(tmp_path: Path) -> None:
    """Nothing is said where there is no unit."""
    environ, lingers = {"XDG_CONFIG_HOME": str(tmp_path)}, tmp_path / "linger"
    lingers.mkdir()
    assert codes(lingering(environ, lingers)) == []
    unit = tmp_path / "systemd" / "user" / "qmd-sidecar.service"
    unit.parent.mkdir(parents=True)
    unit.touch()
    assert codes(lingering(environ, lingers)) == [Code.NO_LINGER]
    (lingers / getpass.getuser()).touch()
    assert codes(lingering(environ, lingers)) == []


def test_a_disk_is_low_before_it_is_full(tmp_path: Path) -> None:
    """The graver one alone."""
    everything = 2**62
    assert codes(room(tmp_path, low_bytes=0, full_bytes=0)) == []
    assert codes(room(tmp_path, low_bytes=everything, full_bytes=0)) == [Code.DISK_LOW]
    assert codes(room(tmp_path, low_bytes=everything, full_bytes=everything)) == [Code.DISK_FULL]


def test_a_check_that_breaks_is_a_finding_and_takes_no_other_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that takes too long; what it was about is not told."""

    def broken(subject: Subject) -> Any:
        raise RuntimeError("zebracomet")

    async def endless(subject: Subject) -> Any:
        await asyncio.Event().wait()

    async def well(subject: Subject) -> Any:
        return []

    checks = (Check("disk", on_disk(broken)), Check("clock", endless), Check("socket", well))
    monkeypatch.setattr(examining, "CHECKS", checks)
    monkeypatch.setattr(examining, "DEADLINE_S", 0.1)
    settings = load(environ={"HOME": str(tmp_path)})
    with ThreadPoolExecutor(1) as pool:
        subject = Subject(settings=settings, environ={}, pool=pool)
        report = asyncio.run(examining.examine(subject, ["disk", "clock", "socket"]))
    assert [check["status"] for check in report["checks"]] == ["error", "error", "ok"]
    assert "zebracomet" not in str(report)
