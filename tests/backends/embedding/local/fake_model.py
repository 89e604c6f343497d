"""What a real model cannot be made to do: `grow` until it is ended, or `die FILE` with every batch."""

import sys
from pathlib import Path

if sys.argv[1] == "die":
    with Path(sys.argv[2]).open("a") as started:
        started.write(".")
sys.stdout.write('{"rows":0,"dims":384}\n')
sys.stdout.flush()
sys.stdin.readline()
hoard = []
while sys.argv[1] == "grow" and len(hoard) < 40:
    hoard.append(bytearray(b"x" * 10_000_000))
if sys.argv[1] == "grow":
    sys.stdin.readline()
