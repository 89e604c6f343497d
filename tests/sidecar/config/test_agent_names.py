from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.config import folder_name


def test_a_plain_id_is_its_own_folder() -> None:
    """The common case stays readable."""
    assert folder_name("main-2_x") == "main-2_x"


@pytest.mark.parametrize("agent_id", ["", "  ", ".", "..", "a/b", "/", "a\0b", "x" * 201])
def test_ids_that_could_climb_or_overflow_are_refused(agent_id: str) -> None:
    """No id may leave the agents' folder."""
    with pytest.raises(ValueError, match="agent id"):
        folder_name(agent_id)


@given(st.text(min_size=1, max_size=60), st.text(min_size=1, max_size=60))
def test_two_ids_never_share_a_folder(first: str, second: str) -> None:
    """Names stay apart also on disks that fold case, and are safe as file names."""
    names = {}
    for agent_id in (first, second):
        try:
            names[agent_id] = folder_name(agent_id)
        except ValueError:
            return
    assert len({name.lower() for name in names.values()}) == len(names)
    assert all(name.isascii() and len(name) < 100 and "/" not in name for name in names.values())


def test_a_plain_id_cannot_imitate_a_hashed_one() -> None:
    """The tail is set off by a character that plain ids cannot hold."""
    imitation = folder_name("My Agent")
    assert folder_name(imitation) != imitation
