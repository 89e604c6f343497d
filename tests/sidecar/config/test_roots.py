from __future__ import annotations

from pathlib import Path

from backends.corpus import Corpus, Kind, Root
from sidecar.config import Settings, load, resolve_corpus
from tests.sidecar.config.conftest import Load

#: What a configuration says to have images read.
READS_IMAGES = "provider: 'gemini', model: 'gemini-embedding-2-preview', multimodal: {enabled: true}"


def corpus(settings: Settings, agent: str = "main") -> Corpus:
    """The corpus of an agent."""
    return resolve_corpus(settings, settings.agents[agent])[0]


def root(settings: Settings, name: str) -> Root:
    """One root of the agent `main`."""
    found = corpus(settings).root(name)
    assert found is not None
    return found


def test_the_default_roots(load_text: Load) -> None:
    """Names, kinds, patterns and shown prefixes as documented; nothing needs to exist."""
    settings = load_text("{agents: {defaults: {workspace: '/w'}}}")
    assert [(r.name, r.kind, str(r.path), r.patterns, r.shown, r.trusted) for r in corpus(settings).roots] == [
        ("memory-root", Kind.CURATED, "/w", ("MEMORY.md", "memory.md"), "", True),
        ("memory-user", Kind.CURATED, "/w", ("USER.md",), "", True),
        ("memory-dir", Kind.DAILY, "/w/memory", ("**/*.md",), "memory/", True),
    ]


def test_default_memory_can_be_left_out(load_text: Load) -> None:
    """Then only what is named is read."""
    settings = load_text("{memory: {qmd: {includeDefaultMemory: false, paths: [{path: '/x'}]}}}")
    assert [r.name for r in corpus(settings).roots] == ["custom-1"]


def test_configured_paths(load_text: Load) -> None:
    """Home, workspace-relative and absolute; names given, cleaned, numbered and unique."""
    settings = load_text(
        """{agents: {defaults: {workspace: '~/w', memorySearch: {extraPaths: ['../team', '/srv/x']}}},
            memory: {qmd: {paths: [{path: '~/notes', name: 'my notes'},
                                   {path: 'docs', name: 'memory-dir', pattern: '*.md'},
                                   {path: '/other', name: 'My-Notes'}]}}}"""
    )
    home = settings.home
    assert [(r.name, r.path, r.patterns, r.shown) for r in corpus(settings).roots[3:]] == [
        ("my-notes", home / "notes", ("**/*.md",), "qmd/my-notes/"),
        ("memory-dir-2", home / "w" / "docs", ("*.md",), "docs/"),
        ("My-Notes-2", Path("/other"), ("**/*.md",), "qmd/My-Notes-2/"),
        ("custom-4", home / "team", ("**/*.md",), "qmd/custom-4/"),
        ("custom-5", Path("/srv/x"), ("**/*.md",), "qmd/custom-5/"),
    ]


def test_a_file_is_its_folder_and_its_name(load_text: Load, home: Path) -> None:
    """Also one that does not exist yet; the name is no pattern."""
    (home / "a[1].txt").touch()
    settings = load_text("{memory: {search: {extraPaths: ['~/a[1].txt', '/none/b.md']}}}")
    first, second = corpus(settings).roots[3:]
    assert [found.relative for found in first.files()] == ["a[1].txt"]
    assert (second.path, second.patterns) == (Path("/none"), ("b.md",))


def test_the_same_files_are_listed_once(load_text: Load) -> None:
    """Two roots with one path and pattern would be one collection for qmd."""
    settings = load_text(
        """{agents: {defaults: {workspace: '/w'}},
            memory: {qmd: {paths: [{path: '/x'}, {path: '/x/../x'},
                                   {path: '/x', pattern: 'a.md'}, {path: 'memory'}]}}}"""
    )
    assert [r.name for r in corpus(settings).roots[3:]] == ["custom-1", "custom-3"]


def test_a_folder_called_qmd_does_not_pose_as_outside(load_text: Load) -> None:
    """Shown paths stay one to one."""
    settings = load_text(
        "{agents: {defaults: {workspace: '/w'}}, memory: {qmd: {paths: [{path: 'qmd/x', name: 'y'}]}}}"
    )
    assert root(settings, "y").shown == "qmd/y/"


def test_a_name_does_not_collide_with_a_folder_below_qmd(load_text: Load, home: Path) -> None:
    """A root that is the whole workspace shows such folders."""
    (home / "w" / "qmd" / "docs").mkdir(parents=True)
    settings = load_text(
        "{agents: {defaults: {workspace: '~/w'}}, memory: {qmd: {paths: [{path: '/d', name: 'docs'}]}}}"
    )
    assert root(settings, "docs-2").shown == "qmd/docs-2/"


def test_a_link_into_the_workspace_is_inside(load_text: Load, home: Path) -> None:
    """The workspace may be reached by two names."""
    (home / "real" / "docs").mkdir(parents=True)
    (home / "w").symlink_to(home / "real")
    settings = load_text("{agents: {defaults: {workspace: '~/w'}}, memory: {qmd: {paths: [{path: '~/real/docs'}]}}}")
    assert root(settings, "custom-1").shown == "docs/"


def test_either_switch_turns_sessions_on(load_text: Load) -> None:
    """Exported conversations are not trusted."""
    by_qmd = load_text("{memory: {qmd: {sessions: {enabled: true}}}}")
    by_search = load_text("{memory: {search: {sources: ['memory', 'sessions'], experimental: {sessionMemory: true}}}}")
    half = load_text("{memory: {search: {sources: ['sessions']}}}")
    sessions = root(by_qmd, "sessions")
    assert (sessions.kind, sessions.trusted, sessions.shown) == (Kind.SESSION, False, "qmd/sessions/")
    assert sessions.path == by_qmd.state_dir / "agents" / "main" / "qmd" / "sessions"
    assert root(by_search, "sessions") == sessions
    assert corpus(half).root("sessions") is None


def test_a_shared_export_folder_gets_a_folder_per_agent(load_text: Load) -> None:
    """One agent must not find another's conversations."""
    settings = load_text(
        """{memory: {qmd: {sessions: {enabled: true, exportDir: '/out'}}},
            agents: {list: [{id: 'a', workspace: '/a'}, {id: 'b', workspace: '/b'}]}}"""
    )
    found = [corpus(settings, name).root("sessions") for name in "ab"]
    assert [str(sessions.path) for sessions in found if sessions] == ["/out/a", "/out/b"]


def test_a_conversation_in_a_memory_folder_is_still_a_conversation(load_text: Load) -> None:
    """It must not gain trust by its place."""
    settings = load_text(
        "{agents: {defaults: {workspace: '/w'}}, memory: {qmd: {sessions: {enabled: true, exportDir: 'memory/chats'}}}}"
    )
    located = corpus(settings).locate("memory/chats/main/x.md")
    assert located is not None
    assert (located.root.name, located.root.trusted) == ("sessions", False)


def trust(settings: Settings, *paths: str) -> list[bool]:
    """Whether the texts at these shown paths are trusted."""
    located = [corpus(settings).locate(path) for path in paths]
    return [place.root.trusted for place in located if place]


def test_a_configured_path_is_trusted_unless_it_says_otherwise(load_text: Load) -> None:
    """The owner has named it, and alone knows who writes there."""
    settings = load_text(
        """{memory: {qmd: {paths: [{path: '/a', name: 'a'}, {path: '/b', name: 'b', trusted: false}]},
            search: {extraPaths: ['/c', {path: '/d', trusted: false}]}}}"""
    )
    paths = ("qmd/a/x.md", "qmd/b/x.md", "qmd/custom-3/x.md", "qmd/custom-4/x.md")
    assert trust(settings, *paths) == [True, False, True, False]


def test_what_others_write_stays_theirs_inside_a_trusted_folder(load_text: Load) -> None:
    """Also in the memory folder itself, as a single file, and beside a second mention of the same folder."""
    settings = load_text(
        """{agents: {defaults: {workspace: '/w'}}, memory: {qmd: {paths: [
            {path: '.'}, {path: 'docs'}, {path: 'memory/clips', trusted: false},
            {path: 'memory/mail.md', trusted: false}, {path: 'docs/clone', trusted: false}]},
            search: {extraPaths: ['memory/clips', {path: 'docs', trusted: false}]}}}"""
    )
    foreign = ("memory/clips/x.md", "memory/mail.md", "docs/clone/y.md", "docs/z.md")
    assert trust(settings, *foreign) == [False] * 4
    assert trust(settings, "memory/x.md", "MEMORY.md", "other/x.md") == [True] * 3


def test_a_wide_folder_of_others_leaves_the_agent_its_own_notes(load_text: Load, home: Path) -> None:
    """They keep their kind and their trust; what lies around them has none."""
    for name in ("w/mine/memory/x.md", "w/mine/MEMORY.md", "w/mine/more/y.md", "w/z.md"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("text", encoding="utf-8")
    settings = load_text(
        """{agents: {defaults: {workspace: '~/w/mine'}},
            memory: {qmd: {paths: [{path: '~/w', name: 'w', trusted: false}, {path: 'more'}]}}}"""
    )
    assert {root.shown + found.relative: root.trusted for root, found in corpus(settings).files()} == {
        "memory/x.md": True,
        "MEMORY.md": True,
        "qmd/w/mine/more/y.md": False,
        "qmd/w/z.md": False,
    }


def test_distrust_of_the_agents_own_memory_is_told_to_have_no_effect(load_text: Load) -> None:
    """Else nobody would mark the clips inside it."""
    settings = load_text("{memory: {qmd: {paths: [{path: 'memory', trusted: false}]}}}")
    (notice,) = resolve_corpus(settings, settings.agents["main"])[1]
    assert (notice.code, trust(settings, "memory/x.md")) == ("no_effect", [True])


def test_media_are_read_below_extra_paths_only(load_text: Load) -> None:
    """And only the kinds that were asked for."""
    settings = load_text(
        """{memory: {qmd: {paths: [{path: '/p'}]},
            search: {provider: 'gemini', model: 'gemini-embedding-2-preview', extraPaths: ['/m'],
                multimodal: {enabled: true, modalities: ['audio']}}}}"""
    )
    media, plain, texts = corpus(settings).roots[3:]
    assert [root.name for root in (media, plain, texts)] == ["custom-2-media", "custom-1", "custom-2"]
    assert (media.media, plain.media, texts.media) == (("audio",), (), ())
    assert [name for name in ("x/a.mp3", "B.MP3", "a.png", "a.md") if media.holds(name)] == ["x/a.mp3", "B.MP3"]
    assert not any(root.holds("a.mp3") for root in (plain, texts))
    assert media.shown == texts.shown


def test_an_image_that_a_pattern_for_texts_also_means_is_an_image(load_text: Load) -> None:
    """A single one needs no root of texts, and no root of either kind tells qmd of images."""
    settings = load_text(
        f"""{{memory: {{search: {{extraPaths: [{{path: '/m', pattern: 'in/**'}}], {READS_IMAGES}}}}}}}"""
    )
    found = corpus(settings)
    assert [(root.name, root.media) for root in found.roots[3:]] == [
        ("custom-1-media", ("image", "audio")),
        ("custom-1", ()),
    ]
    located = found.locate("qmd/custom-1/in/a.png")
    assert located is not None
    assert located.root.name == "custom-1-media"
    assert [root.name for root in found.of_texts().roots[3:]] == ["custom-1"]


def test_a_single_image_may_be_an_extra_path(load_text: Load, tmp_path: Path) -> None:
    """It is the only file of its root."""
    (tmp_path / "boat.png").touch()
    settings = load_text(f"{{memory: {{search: {{extraPaths: ['{tmp_path}/boat.png'], {READS_IMAGES}}}}}}}")
    (root,) = corpus(settings).roots[3:]
    assert (root.media, root.holds("boat.png"), root.holds("other.png")) == (("image", "audio"), True, False)


def test_two_root_memories_are_told(load_text: Load, home: Path) -> None:
    """The first is read."""
    workspace = home / ".openclaw" / "workspace"
    workspace.mkdir(parents=True)
    settings = load_text("{}")
    (workspace / "memory.md").touch()
    assert resolve_corpus(settings, settings.agents["main"])[1] == ()
    (workspace / "MEMORY.md").touch()
    if len(list(workspace.iterdir())) == 2:
        assert [notice.code for notice in resolve_corpus(settings, settings.agents["main"])[1]] == ["two_root_memories"]


def test_a_wide_path_does_not_open_the_workspaces_of_other_agents(tmp_path: Path) -> None:
    """`paths` of all agents is one list; what lies below may be somebody else's."""
    for agent in ("a", "b"):
        (tmp_path / "all" / agent / "memory").mkdir(parents=True)
        (tmp_path / "all" / agent / "memory" / "note.md").write_text("x")
    (tmp_path / "all" / "shared.md").write_text("x")
    text = f"""{{memory: {{qmd: {{paths: [{{path: '{tmp_path}/all'}}]}}}},
        agents: {{list: [{{id: 'a', workspace: '{tmp_path}/all/a'}}, {{id: 'b', workspace: '{tmp_path}/all/b'}}]}}}}"""
    file = tmp_path / "c.json5"
    file.write_text(text)
    settings = load(file, environ={"HOME": str(tmp_path)}, state_dir=tmp_path / "state")
    corpus, _ = resolve_corpus(settings, settings.agents["a"])
    shown = {root.shown + found.relative for root, found in corpus.files()}
    assert shown == {"memory/note.md", "qmd/custom-1/shared.md"}
    assert corpus.locate("qmd/custom-1/b/memory/note.md") is None
