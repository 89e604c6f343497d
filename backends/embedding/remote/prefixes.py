"""What known models want to read before a text, for APIs that have no field for the side.

Sources: the model cards on Hugging Face of nomic-ai/nomic-embed-text-v1.5 and -v2-moe, mixedbread-ai/
mxbai-embed-large-v1, google/embeddinggemma-300m, Snowflake/snowflake-arctic-embed-l and -l-v2.0, BAAI/bge-large-en-v1.5
and -zh-v1.5, intfloat/multilingual-e5-large and -instruct, Qwen/Qwen3-Embedding-0.6B; for gemini-embedding-2 the
embeddings guide of ai.google.dev, which has it say its task in the text: it takes no `taskType`.
"""

from __future__ import annotations

import re

from backends.embedding.base import Side

_PASSAGES = "Represent this sentence for searching relevant passages: "
_WEB_SEARCH = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

#: Patterns of model names in lower case, the narrower ones first, with the prefixes of a query and of a document.
_PREFIXES: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), query, document)
    for pattern, query, document in (
        (r"nomic-embed-text", "search_query: ", "search_document: "),
        (r"embedding-?gemma|gemini-embedding-2\b", "task: search result | query: ", "title: none | text: "),
        (r"arctic-embed2|arctic-embed-[lm]-v2", "query: ", ""),
        (r"mxbai-embed-(large|2d)|arctic-embed", _PASSAGES, ""),
        (r"bge-(large|base|small)-zh", "为这个句子生成表示以用于检索相关文章：", ""),
        (r"bge-(large|base|small)", _PASSAGES, ""),
        (r"e5-large-instruct", _WEB_SEARCH + " ", ""),
        (r"\be5-(large|base|small)", "query: ", "passage: "),
        (r"qwen3-embedding", _WEB_SEARCH, ""),
    )
)


def prefix(model: str, side: Side) -> str:
    """What stands before a text of that side for a model, by its name with or without owner and tag; mostly nothing."""
    name = model.lower()
    for pattern, query, document in _PREFIXES:
        if pattern.search(name):
            return query if side is Side.QUERY else document
    return ""
