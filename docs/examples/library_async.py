"""Ask the daemon two things at once through `sidecar.client`: python library_async.py QUESTION."""

import asyncio
import sys

from sidecar.client import AsyncClient, RefusedError, find


async def main(question: str) -> None:
    """Search as two sessions, read what one of them found, and stumble over an agent that there is not."""
    client, keys = AsyncClient(find(), timeout_s=20), ("agent:main:main", "agent:main:slack:channel:general")
    found, denied = await asyncio.gather(*(client.search("main", query=question, sessionKey=key) for key in keys))
    for hit in found["results"]:
        print(f"{hit['path']}:{hit['startLine']} by {found['backend']}")
        note = await client.get("main", path=f"{hit['path']}#L{hit['startLine']}", sessionKey=keys[0])
        print(note["text"])
    print(denied["outcome"], "by", denied["denied"]["rule"])
    try:
        await client.search("mian", query=question)
    except RefusedError as error:
        print(error.code, "-", error.hint)


asyncio.run(main(sys.argv[1]))
