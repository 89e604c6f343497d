"""Who may read what: session keys, rules, decisions."""

from scope.decision import Decision, Explanation, RuleReport, decide, explain
from scope.idle import IdleRule, idle_rules
from scope.rules import DEFAULT_POLICY, Action, Policy, Rule
from scope.session_key import ChatType, Kind, SessionKey, fold, parse

__all__ = [
    "DEFAULT_POLICY",
    "Action",
    "ChatType",
    "Decision",
    "Explanation",
    "IdleRule",
    "Kind",
    "Policy",
    "Rule",
    "RuleReport",
    "SessionKey",
    "decide",
    "explain",
    "fold",
    "idle_rules",
    "parse",
]
