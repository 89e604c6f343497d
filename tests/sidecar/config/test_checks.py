from __future__ import annotations

import pytest

from tests.sidecar.config.conftest import Load, Refuse


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{memory: {qmd: {update: {onBoot: false, waitForBootSync: true}}}}", "memory.qmd.update.waitForBootSync"),
        (
            "{memory: {search: {provider: 'gemini', model: 'gemini-embedding-2-preview', fallback: 'openai',"
            " multimodal: {enabled: true}}}}",
            "memory.search.fallback",
        ),
        (
            "{memory: {search: {remote: {batch: {enabled: true, pollIntervalMs: 90000, timeoutMinutes: 1}}}}}",
            "memory.search.remote.batch.pollIntervalMs",
        ),
        (
            "{memory: {qmd: {limits: {maxSnippetChars: 800, maxInjectedChars: 799}}}}",
            "memory.qmd.limits.maxSnippetChars",
        ),
    ],
)
def test_contradictions_are_refused(refuse: Refuse, text: str, key: str) -> None:
    """Two keys that cannot both be meant."""
    (finding,) = refuse(text)
    assert (finding.code, finding.key) == ("contradiction", key)
    assert finding.hint


def test_a_search_section_at_the_top_names_its_place(refuse: Refuse) -> None:
    """OpenClaw ignores it, which has cost people hours."""
    (finding,) = refuse("{\nmemorySearch: {}}")
    assert (finding.code, finding.line) == ("misplaced_key", 2)
    assert "agents.defaults.memorySearch" in finding.hint


def test_sessions_that_are_named_but_not_switched_on_are_told(load_text: Load) -> None:
    """Half a switch does nothing, which is easy to miss."""
    (notice,) = load_text("{memory: {search: {sources: ['memory', 'sessions']}}}").notices
    assert (notice.code, notice.message.split(":")[0]) == ("no_effect", "memory.search.sources")


def test_an_interval_below_the_debounce_is_told(load_text: Load) -> None:
    """It works, only not as often as it says."""
    (notice,) = load_text("{memory: {qmd: {update: {interval: '5s'}}}}").notices
    assert (notice.code, notice.message.split(":")[0]) == ("no_effect", "memory.qmd.update.interval")


def test_an_index_inside_a_workspace_is_refused(refuse: Refuse) -> None:
    """It would be written where nothing may be written, perhaps over a note."""
    (finding,) = refuse("{agents: {defaults: {workspace: '/w', memorySearch: {store: {path: '/w/memory/a.md'}}}}}")
    assert (finding.code, finding.key) == ("store_in_workspace", "agents.defaults.memorySearch.store.path")


@pytest.mark.parametrize("limits", ["maxInjectedChars: 500", "maxSnippetChars: 20000", "timeoutMs: 15000"])
def test_a_default_gives_way_to_the_limit_that_is_written(load_text: Load, limits: str) -> None:
    """Who wrote one number meant that one."""
    assert load_text(f"{{memory: {{qmd: {{limits: {{{limits}}}}}}}}}").notices == ()


def test_a_search_that_may_last_longer_than_its_caller_waits_is_told(load_text: Load) -> None:
    """The gateway would report a time-out for an answer that was on its way."""
    (notice,) = load_text("{memory: {qmd: {limits: {timeoutMs: 15001}}}}").notices
    assert (notice.code, notice.message.split(":")[0]) == ("too_late", "memory.qmd.limits.timeoutMs")


def test_a_number_of_results_that_another_key_decides_is_told_once(load_text: Load) -> None:
    """Both keys come from OpenClaw, each for one engine."""
    agents = "list: [{id: 'a', workspace: '/a'}, {id: 'b', workspace: '/b'}]"
    search = "defaults: {memorySearch: {query: {maxResults: 9}}}"
    (notice,) = load_text(f"{{agents: {{{search}, {agents}}}}}").notices
    assert (notice.code, notice.action) == ("no_effect", "set memory.qmd.limits.maxResults")
    assert load_text(f"{{memory: {{qmd: {{limits: {{maxResults: 9}}}}}}, agents: {{{search}}}}}").notices == ()
