"""Ask the daemon over its socket, with the standard library alone: python client.py SOCKET QUESTION."""

import json
import sys
from http.client import HTTPConnection
from socket import AF_UNIX, socket
from typing import Any


class Daemon(HTTPConnection):
    """HTTP over the Unix socket at `path`."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket(AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)

    def post(self, route: str, body: dict[str, Any]) -> Any:
        self.request("POST", f"/v1/agents/{route}", json.dumps(body))
        return json.load(self.getresponse())


if len(sys.argv) != 3:
    sys.exit("usage: python client.py SOCKET QUESTION")
daemon, me = Daemon(sys.argv[1]), {"sessionKey": "agent:main:main"}
question = {"query": sys.argv[2]}
found = daemon.post("main/memory_search", question | me)
for hit in found["results"]:
    print(f"{hit['path']}:{hit['startLine']} by {found['backend']}")
    place = {"path": hit["path"], "from": hit["startLine"], "lines": 1}
    print(daemon.post("main/memory_get", place | me)["text"])
denied = daemon.post("main/memory_search", question | {"sessionKey": "agent:main:slack:channel:general"})
print(denied["outcome"], "by", denied["denied"]["rule"])
error = daemon.post("mian/memory_search", question)["error"]
print(error["code"], "-", error["hint"])
