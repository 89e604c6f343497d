from __future__ import annotations

import pytest

from tests.sidecar.config.conftest import Load, Refuse


def test_without_agents_there_is_main(load_text: Load) -> None:
    """With OpenClaw's default workspace."""
    settings = load_text("{}")
    assert list(settings.agents) == ["main"]
    assert settings.agents["main"].workspace == settings.home / ".openclaw" / "workspace"


def test_agent_values_override_defaults_field_by_field(load_text: Load) -> None:
    """What an agent does not say, the defaults say."""
    settings = load_text(
        """{agents: {
          defaults: {memorySearch: {query: {maxResults: 3, minScore: 0.1}, provider: 'none'}},
          list: [{id: 'a', workspace: '~/a', memorySearch: {query: {maxResults: 9}}}, {id: 'b', workspace: '/b'}]}}"""
    )
    first, second = (settings.agents[name].search for name in "ab")
    assert (first.query.max_results, first.query.min_score, first.provider) == (9, 0.1, "none")
    assert second.query.max_results == 3


def test_both_spellings_load_into_one_shape(load_text: Load) -> None:
    """The newer one needs no list."""
    older = load_text("{agents: {list: [{id: 'a', memorySearch: {chunking: {tokens: 9}}}]}}")
    newer = load_text("{agents: {entries: {a: {memory: {search: {chunking: {tokens: 9}}}}}}}")
    assert older.agents == newer.agents


def test_the_newer_spelling_wins_with_a_notice(load_text: Load) -> None:
    """Key by key: what only the older one says stays."""
    settings = load_text(
        "{memory: {search: {provider: 'none'}}, agents: {defaults: {memorySearch: {provider: 'openai', model: 'm'}}}}"
    )
    search = settings.agents["main"].search
    assert (search.provider, search.model) == ("none", "m")
    assert [notice.code for notice in settings.notices] == ["two_spellings"]


def test_an_agent_beats_defaults_of_either_spelling(load_text: Load) -> None:
    """An old per-agent value is still more special than a new general one."""
    settings = load_text(
        "{memory: {search: {provider: 'none'}}, agents: {list: [{id: 'a', memorySearch: {provider: 'openai'}}]}}"
    )
    assert settings.agents["a"].search.provider == "openai"


def test_list_and_entries_of_one_agent_merge(load_text: Load) -> None:
    """The entry wins."""
    settings = load_text(
        """{agents: {list: [{id: 'a', workspace: '/old', memorySearch: {model: 'm'}}],
                     entries: {a: {workspace: '/new'}, b: {workspace: '/b'}}}}"""
    )
    assert list(settings.agents) == ["a", "b"]
    assert (str(settings.agents["a"].workspace), settings.agents["a"].search.model) == ("/new", "m")


def test_extra_paths_add_up(load_text: Load) -> None:
    """An agent keeps the shared folders beside its own."""
    settings = load_text(
        """{agents: {defaults: {memorySearch: {extraPaths: ['/shared', '/a']}},
                     list: [{id: 'a', memorySearch: {extraPaths: ['/a', {path: '/own'}]}}]}}"""
    )
    assert [extra.path for extra in settings.agents["a"].search.extra_paths] == ["/shared", "/a", "/own"]


def test_one_agent_may_use_the_default_workspace(load_text: Load) -> None:
    """The others name their own; a relative one starts at the home folder."""
    settings = load_text("{agents: {defaults: {workspace: '~/ws'}, list: [{id: 'a', workspace: 'w'}, {id: 'b'}]}}")
    assert [agent.workspace for agent in settings.agents.values()] == [settings.home / "w", settings.home / "ws"]


@pytest.mark.parametrize(
    ("text", "code", "key"),
    [
        ("{agents: {list: [{id: 'a'}, {id: 'b'}]}}", "no_workspace", "agents.list[1]"),
        ("{agents: {list: [{id: 'a'}, {id: 'a'}]}}", "duplicate_agent", "agents.list[1]"),
        ("{agents: {list: [{id: 'a'}], entries: {A: {workspace: '/x'}}}}", "duplicate_agent", "agents.entries.A"),
        ("{agents: {list: [{}]}}", "bad_agent_id", "agents.list[0]"),
        ("{agents: {list: [{id: 3}]}}", "bad_agent_id", "agents.list[0]"),
        ("{agents: {list: ['a']}}", "bad_value", "agents.list[0]"),
        ("{agents: {list: {a: {}}}}", "bad_value", "agents.list"),
        ("{agents: {entries: {'../x': {}}}}", "bad_agent_id", "agents.entries.../x"),
        ("{agents: {defaults: {workspace: 'a\\0'}}}", "bad_value", "agents.defaults.workspace"),
        (
            "{memory: {search: {store: {path: 'x.sqlite'}}},"
            " agents: {list: [{id: 'a', workspace: '/a'}, {id: 'b', workspace: '/b'}]}}",
            "shared_store",
            "memory.search.store.path",
        ),
    ],
)
def test_agents_that_cannot_be(refuse: Refuse, text: str, code: str, key: str) -> None:
    """Each mistake has its code and its place."""
    assert (code, key) in [(finding.code, finding.key) for finding in refuse(text)]


def test_a_shared_workspace_is_told(load_text: Load) -> None:
    """It may be meant."""
    settings = load_text("{agents: {list: [{id: 'a', workspace: '/w'}, {id: 'b', workspace: '/w/.'}]}}")
    assert [notice.code for notice in settings.notices] == ["shared_workspace"]


def test_every_agent_has_an_index_of_its_own(load_text: Load) -> None:
    """Below the state folder, under the agent's folder name."""
    settings = load_text(
        "{sidecar: {stateDir: '/s'}, agents: {list: [{id: 'Ä', workspace: '/a'}, {id: 'b', workspace: '/b'}]}}"
    )
    names = [agent.index_path.relative_to("/s/memory").name for agent in settings.agents.values()]
    assert names == [f"{settings.agents['Ä'].folder}.sqlite", "b.sqlite"]


def test_compaction_merges_like_the_search_settings(load_text: Load) -> None:
    """Other keys of the section are OpenClaw's."""
    settings = load_text(
        """{agents: {defaults: {compaction: {mode: 'safeguard', memoryFlush: {forceFlushTranscriptBytes: '1mb'}}},
                     list: [{id: 'a', compaction: {memoryFlush: {enabled: false}}}]}}"""
    )
    flush = settings.agents["a"].compaction.memory_flush
    assert (flush.enabled, flush.force_flush_transcript_bytes) == (False, 1048576)
