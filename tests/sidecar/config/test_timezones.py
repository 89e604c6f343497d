from __future__ import annotations

import sys
import zoneinfo
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sidecar.config.timezones import host_zone, named_zone, utc
from tests.sidecar.config.conftest import Load, Refuse


def test_the_configured_zone_is_every_agents_zone(load_text: Load) -> None:
    """Dates are the user's dates."""
    settings = load_text("{agents: {defaults: {userTimezone: 'Asia/Tokyo'}}}")
    assert settings.agents["main"].timezone.key == "Asia/Tokyo"


def test_an_unknown_zone_is_an_error(refuse: Refuse) -> None:
    """A silent UTC would move every date."""
    (finding,) = refuse("{agents: {defaults: {userTimezone: '../Paris'}}}")
    assert (finding.code, finding.key) == ("bad_timezone", "agents.defaults.userTimezone")


@pytest.mark.parametrize("named", ["Europe/Paris", ":Europe/Paris"])
def test_tz_names_the_hosts_zone(named: str) -> None:
    """The variable wins over the link."""
    assert host_zone({"TZ": named}).key == "Europe/Paris"


def test_the_link_names_the_hosts_zone(tmp_path: Path) -> None:
    """`/etc/localtime` is a link on every system that we know."""
    link = tmp_path / "localtime"
    link.symlink_to("/usr/share/zoneinfo/Europe/Rome")
    assert host_zone({"TZ": "nonsense"}, localtime=link).key == "Europe/Rome"


def test_a_host_without_a_zone_is_utc(tmp_path: Path) -> None:
    """Slim containers have none."""
    assert host_zone({}, localtime=tmp_path / "none").key == "UTC"


def test_utc_needs_no_zone_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does the name UTC in the configuration."""
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        assert datetime(2026, 7, 1, tzinfo=UTC).astimezone(utc()).utcoffset() == timedelta(0)
        assert named_zone("UTC").key == "UTC"
    finally:
        zoneinfo.reset_tzpath()
        zoneinfo.ZoneInfo.clear_cache()
