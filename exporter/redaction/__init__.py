"""What secrets look like, in plain sight and in disguise."""

from exporter.redaction.context import IN_CONTEXT
from exporter.redaction.rule import SecretRule
from exporter.redaction.tokens import KEY_BLOCKS, VENDOR_TOKENS

SECRET_RULES = (*KEY_BLOCKS, *VENDOR_TOKENS, *IN_CONTEXT)
"""The built-in table. Where two rules take the same text, the earlier one names it."""

__all__ = ["SECRET_RULES", "SecretRule"]
