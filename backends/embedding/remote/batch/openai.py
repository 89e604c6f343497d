"""The Batch API of OpenAI.

Checked against the API reference (batches, files) and the official SDK openai 3.57.0: at most 50,000 requests, and
50,000 inputs of embeddings, and 200 MB in a file; a window of 24 hours is the only one.
"""

from __future__ import annotations

from backends.embedding.remote.batch.files import FileBatches
from backends.embedding.remote.batch.wire import BatchLimits

#: 10 MB less than OpenAI takes: other counts of a megabyte, and of the form around the file, still fit.
LIMITS = BatchLimits(requests=50_000, bytes=190_000_000)
_ENDPOINT = "/v1/embeddings"


def openai_batches(model: str, *, base_url: str = "https://api.openai.com/v1", dims: int | None = None) -> FileBatches:
    """Batches of a model; `dims` asks for vectors of that length."""
    return FileBatches(
        base_url=base_url.rstrip("/"),
        limits=LIMITS,
        line={"method": "POST", "url": _ENDPOINT},
        # Base64 is a quarter of the size of decimal digits, and a file of results is read into memory.
        body={"model": model, "encoding_format": "base64"} | ({"dimensions": dims} if dims else {}),
        creation={"endpoint": _ENDPOINT, "completion_window": "24h"},
    )
