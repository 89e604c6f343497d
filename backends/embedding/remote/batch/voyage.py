"""The Batch API of Voyage AI, a public preview.

After docs.voyageai.com/docs/batch-inference and the compatibility notebook of MongoDB's GenAI-Showcase:
files and batches follow OpenAI's, the window is 12 hours, a line holds `custom_id` and `body` alone, and the model
stands in `request_params` of the batch. Voyage takes 100,000 inputs and 1 GB; this asks for less at a time. The lines
of its output are documented by that kinship only.
"""

from __future__ import annotations

from backends.embedding.remote.batch.files import FileBatches
from backends.embedding.remote.batch.wire import BatchLimits

LIMITS = BatchLimits(requests=50_000, bytes=190_000_000)


def voyage_batches(
    model: str,
    *,
    base_url: str = "https://api.voyageai.com/v1",
    dims: int | None = None,
    input_type: str = "document",
) -> FileBatches:
    """Batches of a model; `dims` asks for vectors of that length."""
    params = {"model": model, "input_type": input_type} | ({"output_dimension": dims} if dims else {})
    return FileBatches(
        base_url=base_url.rstrip("/"),
        limits=LIMITS,
        listed=True,
        creation={"endpoint": "/v1/embeddings", "completion_window": "12h", "request_params": params},
    )
