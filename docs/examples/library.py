"""Ask the daemon through `sidecar.client`: python library.py QUESTION."""

import sys

from sidecar.client import Client, RefusedError, find

client, question = Client(find()), sys.argv[1]
found = client.search("main", query=question, sessionKey="agent:main:main")
for hit in found["results"]:
    place = f"{hit['path']}:{hit['startLine']}"
    print(f"{place} by {found['backend']}")
    note = client.get("main", path=f"{hit['path']}#L{hit['startLine']}", sessionKey="agent:main:main")
    print(note["text"])
denied = client.search("main", query=question, sessionKey="agent:main:slack:channel:general")
print(denied["outcome"], "by", denied["denied"]["rule"])
try:
    client.search("mian", query=question)
except RefusedError as error:
    print(error.code, "-", error.hint)
