"""What can be wrong with the daemon and its surroundings, looked for on request, each with the command that mends it.

`catalogue` lists the checks and their findings; it is all that the command line needs while a daemon runs.
"""
