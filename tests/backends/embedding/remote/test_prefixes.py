"""Known models are told the side of a text in the text itself."""

from __future__ import annotations

import pytest

from backends.embedding.base import Side
from backends.embedding.remote.prefixes import prefix

_PASSAGES = "Represent this sentence for searching relevant passages: "
_WEB_SEARCH = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        ("nomic-embed-text", "search_query: ", "search_document: "),
        ("text-embedding-nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("nomic-embed-text-v2-moe:latest", "search_query: ", "search_document: "),
        ("embeddinggemma:300m", "task: search result | query: ", "title: none | text: "),
        ("gemini-embedding-2-preview", "task: search result | query: ", "title: none | text: "),
        ("mxbai-embed-large:335m", _PASSAGES, ""),
        ("snowflake-arctic-embed:22m", _PASSAGES, ""),
        ("snowflake-arctic-embed2", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("BAAI/bge-large-en-v1.5", _PASSAGES, ""),
        ("bge-small-zh-v1.5", "为这个句子生成表示以用于检索相关文章：", ""),
        ("intfloat/multilingual-e5-base", "query: ", "passage: "),
        ("jeffh/intfloat-multilingual-e5-large-instruct:f16", _WEB_SEARCH + " ", ""),
        ("qwen3-embedding:0.6b", _WEB_SEARCH, ""),
    ],
)
def test_a_known_model_has_its_prefixes_by_any_of_its_names(model: str, query: str, document: str) -> None:
    assert prefix(model, Side.QUERY) == query
    assert prefix(model, Side.DOCUMENT) == document


@pytest.mark.parametrize("model", ["all-minilm", "bge-m3", "gemini-embedding-001", "granite-embedding:30m", "", "xe5-"])
def test_other_models_read_texts_as_they_are(model: str) -> None:
    assert [prefix(model, side) for side in Side] == ["", ""]
