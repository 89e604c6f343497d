from __future__ import annotations

import pytest

import scope
from backends.base import Mode
from sidecar.config.schema import Compaction, Memory, Sidecar
from sidecar.config.search import MemorySearch
from tests.sidecar.config.conftest import Load, Refuse

# CONTRACT: every documented key with its default, as the file spells it.
MEMORY = {
    "backend": "auto", "citations": "auto", "fallback": "builtin", "merge": False,
    "qmd": {
        "command": "qmd", "searchMode": "search", "rerank": "auto", "includeDefaultMemory": True, "paths": [],
        "sessions": {"enabled": False, "retentionDays": 90, "exportDir": None},
        "update": {
            "interval": "300s", "debounceMs": 15000, "onBoot": True, "waitForBootSync": False, "embedInterval": "3600s",
            "commandTimeoutMs": 10000, "updateTimeoutMs": 120000, "embedTimeoutMs": 600000,
        },
        "limits": {"maxResults": 6, "maxSnippetChars": 700, "maxInjectedChars": 10000, "timeoutMs": 4000},
        "resident": {"enabled": True, "idleMinutes": 15, "max": 4, "maxRssMb": 1024},
        "scope": {
            "default": "deny",
            "rules": [
                {"action": "allow", "match": {
                    "channel": None, "chatType": "direct", "keyPrefix": None, "rawKeyPrefix": None, "kind": None}},
            ],
        },
    },
}  # fmt: skip
SEARCH = {
    "enabled": True, "sources": ["memory"], "provider": "auto", "model": None, "fallback": "none",
    "remote": {
        "baseUrl": None, "apiKey": None, "headers": {},
        "batch": {"enabled": False, "wait": True, "concurrency": 2, "pollIntervalMs": 2000, "timeoutMinutes": 60},
    },
    "local": {"modelPath": None, "modelCacheDir": None},
    "outputDimensionality": None, "queryInputType": None, "documentInputType": None,
    "multimodal": {"enabled": False, "modalities": ["image", "audio"], "maxFileBytes": 10000000},
    "extraPaths": [],
    "store": {"driver": "sqlite", "path": "{agentId}.sqlite", "vector": {"enabled": True, "extensionPath": None}},
    "chunking": {"tokens": 400, "overlap": 80},
    "sync": {
        "onSessionStart": True, "onSearch": True, "watch": True, "watchDebounceMs": 1500, "intervalMinutes": 0,
        "sessions": {"deltaBytes": 100000, "deltaMessages": 50},
    },
    "query": {
        "maxResults": 6, "minScore": 0.35,
        "hybrid": {
            "enabled": True, "vectorWeight": 0.7, "textWeight": 0.3, "candidateMultiplier": 4,
            "mmr": {"enabled": False, "lambda": 0.7}, "temporalDecay": {"enabled": False, "halfLifeDays": 30},
        },
    },
    "cache": {"enabled": True, "maxEntries": 50000},
    "experimental": {"sessionMemory": False},
}  # fmt: skip
COMPACTION = {
    "reserveTokensFloor": 20000,
    "memoryFlush": {
        "enabled": True, "softThresholdTokens": 4000, "forceFlushTranscriptBytes": 2097152,
        "systemPrompt": "Session nearing compaction. Store durable memories now.",
        "prompt": "Write any lasting notes to memory/YYYY-MM-DD.md; reply with NO_REPLY if nothing to store.",
    },
}  # fmt: skip
SIDECAR: dict[str, object] = {
    "stateDir": None, "transcripts": None,
    "socket": {"path": None, "mode": "0600", "group": None, "allowUids": []},
    "log": {"level": "info", "file": None, "queries": False},
    "metrics": {"listen": None}, "redact": {"patterns": [], "allow": []}, "workers": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "expected"), [(Memory, MEMORY), (MemorySearch, SEARCH), (Compaction, COMPACTION), (Sidecar, SIDECAR)]
)
def test_every_documented_key_has_its_documented_default(
    model: type[Memory | MemorySearch | Compaction | Sidecar], expected: dict[str, object]
) -> None:
    """Names, nesting and defaults are a promise."""
    assert model().model_dump(mode="json", by_alias=True) == expected


def test_the_missions_own_configuration_loads(load_text: Load) -> None:
    """The example of the mission, with its comments and its alias `sqlite`."""
    settings = load_text(
        """{
        memory: { backend: "sqlite", citations: "on", // JSON5
          qmd: { searchMode: "vsearch", update: { interval: "5m", embedInterval: 30 },
            paths: [{ name: "docs", path: "~/notes", pattern: "**/*.md" }],
            scope: { default: "deny", rules: [
              { action: "allow", match: { chatType: "dm" } },
              { action: "deny", match: { keyPrefix: "Discord:channel:" } },
              { action: "deny", match: { rawKeyPrefix: "agent:main:discord:" } } ] } } },
        channels: { telegram: { token: "${NOT_OURS}" } } }"""
    )
    assert (settings.memory.backend, settings.memory.qmd.search_mode) == ("builtin", Mode.VSEARCH)
    assert (settings.memory.qmd.update.interval_s, settings.memory.qmd.update.embed_interval_s) == (300, 1800)
    assert settings.policy == scope.Policy(
        "deny",
        (
            scope.Rule("allow", chat_type="direct"),
            scope.Rule("deny", key_prefix="discord:channel:"),
            scope.Rule("deny", raw_key_prefix="agent:main:discord:"),
        ),
    )
    assert settings.notices == ()


def test_without_a_scope_direct_chats_may_read(load_text: Load) -> None:
    """The default policy of the schema is the one of the scope package."""
    assert load_text("{}").policy == scope.DEFAULT_POLICY


def test_a_scope_without_a_default_denies(load_text: Load) -> None:
    """A forgotten line must not open the memory."""
    assert load_text("{memory: {qmd: {scope: {rules: []}}}}").policy == scope.Policy("deny", ())


def test_weights_are_normalised(load_text: Load) -> None:
    """They add up to one, whatever was written."""
    hybrid = load_text("{memory: {search: {query: {hybrid: {vectorWeight: 0.9, textWeight: 0.9}}}}}")
    assert hybrid.agents["main"].search.query.hybrid.vector_weight == 0.5


def test_weights_of_zero_are_the_defaults(load_text: Load) -> None:
    """Nothing would ever be found with them."""
    settings = load_text("{memory: {search: {query: {hybrid: {vectorWeight: 0, textWeight: 0}}}}}")
    hybrid = settings.agents["main"].search.query.hybrid
    assert (hybrid.vector_weight, hybrid.text_weight) == (0.7, 0.3)


def test_numbers_out_of_range_are_clamped_and_told(load_text: Load) -> None:
    """OpenClaw clamps too, silently."""
    settings = load_text("{memory: {search: {query: {minScore: 7}, chunking: {tokens: 10, overlap: 99}}}}")
    search = settings.agents["main"].search
    assert (search.query.min_score, search.chunking.overlap) == (1.0, 9)
    assert [(notice.code, notice.message) for notice in settings.notices] == [
        ("clamped", "memory.search.query.minScore: out of range: 1.0 is used")
    ]


@pytest.mark.parametrize(
    ("text", "key", "line", "hint"),
    [
        (
            "{memory: {\n qmd: {\n limits: {\n maxResult: 3}}}}",
            "memory.qmd.limits.maxResult",
            4,
            "did you mean maxResults?",
        ),
        (
            "{memory: {\n maxSnippetChars: 3}}",
            "memory.maxSnippetChars",
            2,
            "this key belongs in qmd.limits.maxSnippetChars",
        ),
        ("{sidecar: {socket: {zzz: 1}}}", "sidecar.socket.zzz", 1, "known here: allowUids, group, mode, path"),
        (
            "{agents: {list: [{id: 'a',\n memorySearch: {synk: {}}}]}}",
            "agents.list[0].memorySearch.synk",
            2,
            "did you mean sync?",
        ),
        (
            "{agents: {entries: {a: {memory: {search:\n {x: 1}}}}}}",
            "agents.entries.a.memory.search.x",
            2,
            "known here: ",
        ),
        (
            "{agents: {defaults: {compaction: {memoryFlush: {prompts: ''}}}}}",
            "agents.defaults.compaction.memoryFlush.prompts",
            1,
            "did you mean prompt?",
        ),
        ("{memory: {max_results: 3}}", "memory.max_results", 1, "known here: "),
        (
            "{memory: {qmd: {scope: {rules: [{action: 'allow', match: {chattype: 'x'}}]}}}}",
            "memory.qmd.scope.rules[0].match.chattype",
            1,
            "did you mean chatType?",
        ),
    ],
)
def test_an_unknown_key_names_its_place_and_the_nearest_key(
    refuse: Refuse, text: str, key: str, line: int, hint: str
) -> None:
    """A typing error is found in one look."""
    (finding,) = refuse(text)
    assert (finding.code, finding.key, finding.line) == ("unknown_key", key, line)
    assert finding.hint.startswith(hint)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("{memory: {backend: 'lucene'}}", "memory.backend"),
        ("{memory: {qmd: {limits: {timeoutMs: '4000'}}}}", "memory.qmd.limits.timeoutMs"),
        ("{memory: {qmd: {limits: {timeoutMs: 0}}}}", "memory.qmd.limits.timeoutMs"),
        ("{memory: {qmd: {limits: {timeoutMs: 1e300}}}}", "memory.qmd.limits.timeoutMs"),
        ("{memory: {qmd: {update: {onBoot: 1}}}}", "memory.qmd.update.onBoot"),
        ("{memory: {qmd: {update: {interval: 'soon'}}}}", "memory.qmd.update.interval"),
        ("{memory: {qmd: {command: 'npx qmd'}}}", "memory.qmd.command"),
        ("{memory: {qmd: {rerank: 3}}}", "memory.qmd.rerank"),
        ("{memory: {qmd: {paths: ['x']}}}", "memory.qmd.paths[0]"),
        ("{memory: {qmd: {paths: [{name: 'x'}]}}}", "memory.qmd.paths[0]"),
        ("{memory: {qmd: {paths: [{path: 'a', pattern: 'x.md,y.md'}]}}}", "memory.qmd.paths[0].pattern"),
        ("{memory: {qmd: {paths: [{path: 'a', pattern: '../*.md'}]}}}", "memory.qmd.paths[0].pattern"),
        ("{memory: {qmd: {paths: [{path: 'a\\0b'}]}}}", "memory.qmd.paths[0].path"),
        ("{memory: {search: {extraPaths: ['ok', ' ']}}}", "memory.search.extraPaths[1]"),
        ("{memory: {search: {query: {minScore: NaN}}}}", "memory.search.query.minScore"),
        (
            "{memory: {qmd: {scope: {rules: [{action: 'allow', match: {channel: ' '}}]}}}}",
            "memory.qmd.scope.rules[0].match.channel",
        ),
        ("{sidecar: {socket: {mode: '0666'}}}", "sidecar.socket.mode"),
        ("{sidecar: {socket: {mode: 'rw'}}}", "sidecar.socket.mode"),
        ("{sidecar: {metrics: {listen: 'everywhere'}}}", "sidecar.metrics.listen"),
        ("{sidecar: {redact: {patterns: ['(?=x)']}}}", "sidecar.redact.patterns[0]"),
        ("{memory: []}", "memory"),
        ("{agents: 3}", "agents"),
        ("{memory: {search: 1}}", "memory.search"),
        ("{tools: {sessions: {visibility: 'everyone'}}}", "tools.sessions.visibility"),
    ],
)
def test_a_wrong_value_names_its_key(refuse: Refuse, text: str, key: str) -> None:
    """Types are not converted, ranges are kept."""
    (finding,) = refuse(text)
    assert finding.key == key
    assert finding.message


def test_bytes_that_are_no_text_are_refused(refuse: Refuse) -> None:
    """A variable may hold them; no socket could carry them."""
    assert [finding.code for finding in refuse("{memory: {qmd: {command: '${X}'}}}", X="/\udcff")] == ["bad_text"]


def test_all_errors_are_told_at_once(refuse: Refuse) -> None:
    """One edit mends the file."""
    assert len(refuse("{memory: {x: 1, backend: 2}, sidecar: {y: 3}, memorySearch: {}}")) == 4


def test_no_value_stands_in_an_error(refuse: Refuse) -> None:
    """A secret in the wrong place must not reach a log."""
    findings = refuse("{memory: {backend: 'hunter2', qmd: {limits: {maxResults: 'hunter2'}, command: 'hunter2 x'}}}")
    assert len(findings) == 3
    assert "hunter2" not in " ".join(map(str, findings))


@pytest.mark.parametrize(
    "text",
    [
        "{memory: {qmd: {mcporter: {enabled: true}}}}",
        "{memory: {qmd: {searchTool: 'x'}}}",
        "{memory: {qmd: {update: {startup: 'idle'}}}}",
        "{memory: {search: {rememberAcrossConversations: true}}}",
        "{memory: {search: {store: {fts: {tokenizer: 'trigram'}}}}}",
        "{agents: {defaults: {memorySearch: {inputType: 'x'}}}}",
        "{agents: {defaults: {memorySearch: {qmd: {extraCollections: []}}}}}",
        "{agents: {defaults: {contextLimits: {memoryGetMaxChars: 9}}}}",
        "{agents: {defaults: {compaction: {memoryFlush: {model: 'x'}}}}}",
    ],
)
def test_keys_that_only_openclaw_uses_get_one_notice(load_text: Load, text: str) -> None:
    """A file of any OpenClaw of the year loads."""
    (notice,) = load_text(text).notices
    assert notice.code == "unused_key"
    assert notice.action
