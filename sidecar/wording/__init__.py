"""How facts are said to people: on a terminal, in the log, and in what the doctor finds."""
