"""docs/doctor.md, whose table is made from the catalogue.

python -m tests.sidecar.doctor.page
"""

from __future__ import annotations

from collections.abc import Iterator

from sidecar.doctor.catalogue import TITLES, Code
from tests.running import REPOSITORY

PAGE = REPOSITORY / "docs" / "doctor.md"
BEGIN = "<!-- findings: made by python -m tests.sidecar.doctor.page -->\n"


def table() -> str:
    """Every check with its findings."""
    return "\n".join(line for check in TITLES for line in _section(check))


def _section(check: str) -> Iterator[str]:
    yield f"\n### {check}\n"
    yield f"{TITLES[check][0].upper()}{TITLES[check][1:]}.\n"  # type: ignore[index]
    yield "| finding | | what it means | command |"
    yield "|---|---|---|---|"
    for code in Code:
        if code.check == check:
            command = code.command.replace("{{", "{").replace("}}", "}").replace("|", "\\|")
            yield f"| `{code.label}` | {code.severity} | {code.meaning} | `{command}` |"


def page() -> str:
    """The page with its table made anew."""
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[0] + BEGIN + table() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
