"""Who may read what: session keys, rules, decisions."""
