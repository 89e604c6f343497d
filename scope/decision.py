"""May this session read this agent's memory? One answer for every door: search, get, citations, triggers.

`explain` is the only place that decides; `decide` is its short form, so the two cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, get_args

from scope.rules import Action, Policy
from scope.session_key import ChatType, Kind, SessionKey, fold, parse

FOREIGN_KEY: Final = "key of another agent"
OPERATOR: Final = "operator at the command line"
_PARENT: Final = "parent: "


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer and its reason. `rule` quotes the rule or names the verdict; it never quotes the session key."""

    allowed: bool
    rule: str
    channel: str | None
    chat_type: ChatType | None
    kind: Kind

    @property
    def by_operator(self) -> bool:
        """Whether no rule was asked because the operator asks, or a sub-agent of the operator's."""
        return self.allowed and self.rule.removeprefix(_PARENT) == OPERATOR


@dataclass(frozen=True, slots=True)
class RuleReport:
    """One rule of the policy (`number` from 1), whether it matched, and the first condition that did not hold."""

    number: int
    rule: str
    matched: bool
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A decision with everything that led to it; `parent` is set where a sub-agent's parent was asked."""

    decision: Decision
    key: SessionKey
    rules: tuple[RuleReport, ...]
    parent: Explanation | None = None


def decide(
    policy: Policy, *, agent_id: str, session_key: str | None, parent_session_key: str | None = None
) -> Decision:
    """Whether `session_key` may read the memory of `agent_id`; never raises, and unsure means no."""
    return explain(policy, agent_id=agent_id, session_key=session_key, parent_session_key=parent_session_key).decision


def explain(
    policy: Policy, *, agent_id: str, session_key: str | None, parent_session_key: str | None = None
) -> Explanation:
    """The decision of `decide`, with the derived facts and every rule: matched or not, and why."""
    key = parse(session_key)
    rules = _report(policy, key, agent_id)
    if refusal := _refusal(key, agent_id):
        return Explanation(_answer(key, refusal, allowed=False), key, rules)
    if key.kind == "cli":
        return Explanation(_answer(key, OPERATOR, allowed=True), key, rules)
    if key.kind == "subagent":
        return _explain_subagent(policy, key, rules, agent_id, parent_session_key)
    return _explain_by_rules(policy, key, rules)


def _report(policy: Policy, key: SessionKey, agent_id: str) -> tuple[RuleReport, ...]:
    unmet = [rule.unmet(key, agent_id=agent_id) if key.valid else key.problem for rule in policy.rules]
    return tuple(
        RuleReport(number, str(rule), matched=not why, why=why or "every condition holds")
        for number, (rule, why) in enumerate(zip(policy.rules, unmet, strict=True), start=1)
    )


def _refusal(key: SessionKey, agent_id: str) -> str:
    """Why no rule is even asked; empty when the rules may decide."""
    if key.agent_id is not None and key.agent_id != fold(agent_id):
        return FOREIGN_KEY
    # The operator is let in whatever the rules say, so the key must say in full that it is the operator.
    if key.kind == "cli" and key.agent_id is None:
        return "command line without an agent"
    return key.problem


def _verdict(policy: Policy, reports: tuple[RuleReport, ...]) -> tuple[Action, RuleReport | None]:
    """What the rules say, and which one said it (None: the default)."""
    matched = [(rule.action, report) for rule, report in zip(policy.rules, reports, strict=True) if report.matched]
    for wanted in get_args(Action):
        for action, report in matched:
            if action == wanted:
                return action, report
    return policy.default, None


def _explain_by_rules(policy: Policy, key: SessionKey, rules: tuple[RuleReport, ...]) -> Explanation:
    action, report = _verdict(policy, rules)
    reason = f"rule {report.number}: {report.rule}" if report else f"default {action}"
    return Explanation(_answer(key, reason, allowed=action == "allow"), key, rules)


def _explain_subagent(
    policy: Policy, key: SessionKey, rules: tuple[RuleReport, ...], agent_id: str, parent_session_key: str | None
) -> Explanation:
    """The parent's decision, unless a deny names the sub-agent itself. A parent that is a sub-agent has no parent."""
    action, report = _verdict(policy, rules)
    if action == "deny" and report is not None:
        return _explain_by_rules(policy, key, rules)
    if parent_session_key is None:
        return Explanation(_answer(key, "sub-agent without a parent key", allowed=False), key, rules)
    parent = explain(policy, agent_id=agent_id, session_key=parent_session_key)
    decision = replace(parent.decision, rule=f"{_PARENT}{parent.decision.rule}", kind="subagent")
    return Explanation(decision, key, rules, parent)


def _answer(key: SessionKey, rule: str, *, allowed: bool) -> Decision:
    return Decision(allowed, rule, key.channel, key.chat_type, key.kind)
