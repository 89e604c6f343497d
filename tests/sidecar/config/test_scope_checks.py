"""Remarks about a scope: they are told with file and line, and stop nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scope import DEFAULT_POLICY
from tests.sidecar.config.conftest import Load, Refuse

TWO_AGENTS = "agents: {list: [{id: 'main', workspace: '/m'}, {id: 'Ops', workspace: '/o'}]}"

PAGE = (Path(__file__).parents[3] / "docs" / "scope.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"```json5\n(\{.*?)```", PAGE, re.DOTALL)


def scoped(scope: str) -> str:
    """A configuration of two agents with this scope."""
    return f"{{memory: {{qmd: {{scope: {scope}}}}},\n{TWO_AGENTS}}}"


def test_a_scope_without_a_default_is_told(load_text: Load) -> None:
    """OpenClaw took it for an open door, this daemon for a closed one: the operator should write what is meant."""
    (notice,) = load_text(scoped("{rules: [{action: 'allow', match: {chatType: 'direct'}}]}")).notices
    assert notice.code == "no_default"
    assert 'default: "deny"' in notice.action


def test_an_empty_scope_is_a_scope_without_a_default(load_text: Load) -> None:
    """It shuts everybody out."""
    assert [notice.code for notice in load_text(scoped("{}")).notices] == ["no_default"]


def test_a_rule_that_decides_nothing_is_told_with_its_line(load_text: Load) -> None:
    """The place in the file, why, and what to do; what the rule names is not repeated."""
    scope = """{default: "deny", rules: [
        {action: "allow", match: {channel: "secretive"}},
        {action: "deny", match: {chatType: "group"}},
        {action: "deny"}]}"""
    findings = load_text(scoped(scope)).findings
    assert [(found.code, found.key, found.line) for found in findings] == [
        ("idle_rule", "memory.qmd.scope.rules[0]", 2),
        ("idle_rule", "memory.qmd.scope.rules[1]", 3),
    ]
    assert all("rule 3" in found.message and found.hint for found in findings)
    assert "secretive" not in str(findings)


def test_a_rule_for_a_configured_agent_is_in_order(load_text: Load) -> None:
    """In any case; only an agent that does not exist is told."""
    rules = (
        "[{action: 'deny', match: {rawKeyPrefix: 'agent:ops:'}}, {action: 'deny', match: {keyPrefix: 'agent:opz:'}}]"
    )
    (finding,) = load_text(scoped(f"{{default: 'allow', rules: {rules}}}")).findings
    assert (finding.code, finding.key) == ("idle_rule", "memory.qmd.scope.rules[1]")


@pytest.mark.parametrize("text", ["{}", "{memory: {qmd: {}}}", "{memory: {qmd: {scope: null}}}"])
def test_without_a_scope_there_is_nothing_to_say(load_text: Load, refuse: Refuse, text: str) -> None:
    """The default policy is nobody's mistake; and a scope that is no object is an error alone."""
    findings = refuse(text) if "null" in text else load_text(text).findings
    assert not {"no_default", "idle_rule"} & {found.code for found in findings}


@pytest.mark.parametrize("name", ["a:b", "main:direct", ":"])
def test_an_agent_whose_id_holds_a_colon_is_refused(refuse: Refuse, name: str) -> None:
    """`agent:a:b:main` is a key of agent `a`."""
    (finding,) = refuse(f"{{agents: {{list: [{{id: '{name}'}}]}}}}")
    assert finding.code == "bad_agent_id"
    assert "colon" in finding.message


def test_agents_that_session_keys_cannot_tell_apart_are_refused(refuse: Refuse) -> None:
    """Both small sigmas are one letter."""
    (finding,) = refuse("{agents: {list: [{id: 'οσ', workspace: '/a'}, {id: 'ος', workspace: '/b'}]}}")
    assert finding.code == "duplicate_agent"


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_of_the_documentation_loads_without_a_remark(load_text: Load, recipe: str) -> None:
    """What is copied from there is in order."""
    assert load_text(scoped(recipe)).findings == ()


def test_the_documented_default_is_the_default(load_text: Load) -> None:
    """The first block of the page is what holds without one."""
    text = re.findall(r"```json5\n(.*?)```", PAGE, re.DOTALL)[0]
    assert load_text(f"{{{text}}}").policy == DEFAULT_POLICY
