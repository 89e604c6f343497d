"""Which conversations a session sees, by the rule and by whose they are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from exporter import Exported, Owners
from sidecar.config.schema import Visibility
from sidecar.sessions.visibility import Asker, Families, Visible, visible

ME = "agent:main:telegram:direct:alice"
BOB = "agent:main:telegram:direct:bob"
CHILD, GRANDCHILD = "agent:main:acp:1", "agent:main:subagent:2"
EXPORTS = {
    "me.md": ME,
    "me-old.jsonl.reset.1.md": ME,
    "bob.md": BOB,
    "child.md": CHILD,
    "grandchild.md": GRANDCHILD,
    "nobody.md": "",
    "foreign.md": "agent:other:telegram:direct:alice",
}
OWN = {"me.md", "me-old.jsonl.reset.1.md"}
FAMILY = OWN | {"child.md", "grandchild.md"}
ALL = {*EXPORTS} - {"foreign.md"}
STARTED = {(CHILD, ME), (GRANDCHILD, CHILD)}


def seen(
    rule: Visibility,
    key: str | None = ME,
    *,
    exports: Mapping[str, str] = EXPORTS,
    started: set[tuple[str, str]] = STARTED,
    **claims: object,
) -> Visible:
    """What a session of agent main sees."""
    exported = tuple(Exported(path.removesuffix(".md"), path, owner, 9, False) for path, owner in exports.items())
    families = Families.of("main", Owners(exported, frozenset(started)))
    return visible(Asker(session_key=key, **claims), rule, "main", families)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rule", "paths"),
    [("self", OWN), ("tree", FAMILY), ("agent", ALL), ("all", ALL)],
    ids=["self", "tree", "agent", "all"],
)
def test_a_rule_shows_its_sessions_and_counts_the_others(rule: Visibility, paths: set[str]) -> None:
    """Archives are with their session, a child's children with the tree; another agent's are with nobody."""
    result = seen(rule)
    assert result.paths == paths
    assert result.hidden == len(EXPORTS) - len(paths)
    assert result.rule == rule


def test_a_child_does_not_see_who_started_it() -> None:
    """The tree grows down."""
    assert seen("tree", CHILD).paths == {"child.md", "grandchild.md"}


def test_sessions_that_the_gateway_names_are_seen_in_the_tree_alone() -> None:
    """But not with what these started, and never those of another agent."""
    named = (BOB, "agent:other:telegram:direct:alice", "nonsense::", "")
    assert seen("tree", named=named).paths == FAMILY | {"bob.md"}
    assert seen("self", named=named).paths == OWN
    assert seen("tree", BOB, named=(ME,)).paths == OWN | {"bob.md"}


@pytest.mark.parametrize("spelling", ["telegram:direct:alice", "AGENT:Main:Telegram:direct:ALICE", f"  {ME} "])
def test_keys_are_compared_as_scope_reads_them(spelling: str) -> None:
    """With or without the agent, in any case, in a request and in the store."""
    assert seen("self", spelling).paths == OWN
    assert seen("self", exports={"x.md": spelling}).paths == {"x.md"}
    assert seen("tree", exports={"child.md": CHILD}, started={(CHILD, spelling)}).paths == {"child.md"}


@pytest.mark.parametrize("key", [None, "", "nonsense::", "agent:other:main", "agent:main:agent:main:main"])
def test_a_key_that_is_none_owns_nothing(key: str | None) -> None:
    """Least of all what nobody owns."""
    assert seen("tree", key).paths == frozenset()


@pytest.mark.parametrize("rule", ["agent", "all"])
def test_a_sandboxed_caller_sees_its_tree_at_most(rule: Visibility) -> None:
    """And less where the rule says less."""
    result = seen(rule, sandboxed=True)
    assert (result.paths, result.rule) == (FAMILY, "tree")
    assert seen("self", sandboxed=True).paths == OWN


def test_an_operator_sees_everything_unless_in_a_sandbox() -> None:
    """Also what names another agent."""
    key = "agent:main:cli:direct:search"
    assert seen("self", key, operator=True).paths is None
    assert seen("all", key, operator=True, sandboxed=True).paths == frozenset()


def test_nothing_is_listed_where_nothing_is_hidden() -> None:
    """An engine answers faster without a list."""
    assert seen("agent", exports={"me.md": ME, "nobody.md": ""}) == Visible(paths=None, rule="agent")


def test_sessions_that_started_each_other_are_one_tree() -> None:
    """A circle has an end."""
    assert seen("tree", exports={"me.md": ME, "bob.md": BOB}, started={(ME, BOB), (BOB, ME)}).paths == {
        "me.md",
        "bob.md",
    }
