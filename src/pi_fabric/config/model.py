"""The configuration: every key of `fabric.json`, with default, bounds and meaning.

Numbers follow the specification. The order of sections and keys is the order of the file.
"""
# ruff: noqa: RUF009 - `setting` and `section` are field specifiers, as `dataclasses.field` is

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pi_fabric.config.keys import Section, section, setting, walk
from pi_fabric.config.kinds import Boolean, Integer, Names, Number, Text, Word, WordList
from pi_fabric.config.maps import RISK, CommandMap, RiskMap, TrustedCommand
from pi_fabric.protocol.actions import Risk

Runtime = Literal["quickjs", "node-process"]
ResultFormat = Literal["auto", "yaml", "json", "text"]
Policy = Literal["allow", "ask", "deny"]
Runner = Literal["pi", "claude"]
Transport = Literal["auto", "process", "tmux", "screen", "localterm", "herdr"]
Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh", "max"]
WidgetMode = Literal["auto", "always", "hidden"]
CompactionEngine = Literal["fabric", "pi"]
CompactionFill = Literal["ratio", "tail"]
ActorScope = Literal["project", "session"]
MeshBackend = Literal["file", "nats"]
MemoryVerify = Literal["stat", "hash"]
MemorySource = Literal["pi", "claude", "codex"]
SchemaMode = Literal["off", "audit", "enforce"]

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
CORE_TOOLS = ("read", "bash", "edit", "write", "grep", "find", "ls")
POLICY: Word[Policy] = Word("allow", ("allow", "ask", "deny"))
YES = Boolean(True)
NO = Boolean(False)
ABSENT: Text[None] = Text(None)
SOURCES: WordList[MemorySource] = WordList(("pi",), ("pi", "claude", "codex"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorConfig(Section):
    """How programs run."""

    runtime: Runtime = setting(
        Word("quickjs", ("quickjs", "node-process")),
        "Engine for programs; node-process is no sandbox.",
        widens="always",
    )
    timeout_ms: int = setting(Integer(120_000, 1_000, 900_000), "Time one program may take.")
    memory_limit_bytes: int = setting(
        Integer(64 * MIB, 8 * MIB, None),
        "Memory of one program; at most the machine's, and under 4 GiB with quickjs.",
    )
    max_output_chars: int = setting(
        Integer(100_000, 1_000, 1_000_000), "Length of a result as the model sees it."
    )
    max_nested_result_chars: int = setting(
        Integer(2_000_000, 10_000, 20_000_000), "Length of one nested call's result."
    )
    result_format: ResultFormat = setting(
        Word("auto", ("auto", "yaml", "json", "text")), "How a returned value is written."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalsConfig(Section):
    """What happens before a call of each risk class."""

    read: Policy = setting(POLICY, "Calls that only look.", widens="when_looser")
    write: Policy = setting(POLICY, "Calls that change files.", widens="when_looser")
    execute: Policy = setting(POLICY, "Calls that run commands.", widens="when_looser")
    network: Policy = setting(POLICY, "Calls that reach the network.", widens="when_looser")
    agent: Policy = setting(POLICY, "Calls that start agents.", widens="when_looser")


@dataclass(frozen=True, slots=True, kw_only=True)
class McpConfig(Section):
    """MCP servers."""

    enabled: bool = setting(YES, "Offer MCP servers to programs.", widens="always")
    config_path: str | None = setting(ABSENT, "Server list to use instead of Pi's.", widens="always")
    disable_oauth: bool = setting(
        YES, "Never open a browser to sign in.", name="disableOAuth", widens="always"
    )
    allow_dynamic_servers: bool = setting(YES, "Let programs register servers.", widens="always")
    call_timeout_ms: int = setting(
        Integer(120_000, 1_000, 900_000), "Time one MCP call may take.", widens="always"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeConfig(Section):
    """The Claude Code runner."""

    binary: str = setting(Text("claude"), "Command to start.", widens="always")
    model: str | None = setting(ABSENT, "Model of Claude children.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentsConfig(Section):
    """Child agents."""

    enabled: bool = setting(YES, "Offer agents to programs.")
    runner: Runner = setting(Word("pi", ("pi", "claude")), "Harness of a child.")
    transport: Transport = setting(
        Word("process", ("auto", "process", "tmux", "screen", "localterm", "herdr")),
        "Where a child runs.",
    )
    model: str | None = setting(ABSENT, "Model of Pi children, as provider/id.")
    claude: ClaudeConfig = section(ClaudeConfig)
    thinking: Thinking = setting(
        Word("medium", ("off", "minimal", "low", "medium", "high", "xhigh", "max")),
        "Reasoning effort of a child.",
    )
    max_concurrent: int = setting(Integer(4, 1, 32), "Children running at once.")
    max_per_execution: int = setting(Integer(100, 1, 1_000), "Children one program may start.")
    max_depth: int = setting(Integer(2, 0, 8), "Levels of children below children.")
    timeout_ms: int = setting(
        Integer(3_600_000, 1_000, 86_400_000), "Time a child may take; calls may ask for more."
    )
    extensions: bool = setting(YES, "Children keep the user's extensions.")
    default_tools: tuple[str, ...] = setting(Names(CORE_TOOLS), "Tools of a child.")
    retain_runs: bool = setting(NO, "Keep the files of finished children.")
    notify_on_complete: bool = setting(YES, "Tell the session when a detached child ends.")
    budget_usd: float = setting(Number(0, 0, 1_000_000), "Cost of a whole tree of children; 0 is unlimited.")
    max_tokens_per_child: int = setting(Integer(0, 0, 100_000_000), "Tokens of a child; 0 is unlimited.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureConfig(Section):
    """Tools of other extensions."""

    enabled: bool = setting(YES, "Offer other extensions' tools to programs.")
    hide_from_model: bool = setting(YES, "Take captured tools out of the model's list.")
    keep_visible: tuple[str, ...] = setting(
        Names(("fabric_exec",), is_unique=True), "Tools that stay in the model's list."
    )
    default_risk: Risk = setting(RISK, "Risk of a tool without one.")
    risks: Mapping[str, Risk] = setting(
        RiskMap(
            (
                ("read", "read"),
                ("grep", "read"),
                ("find", "read"),
                ("ls", "read"),
                ("edit", "write"),
                ("write", "write"),
                ("bash", "execute"),
            )
        ),
        "Risk by tool name.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UiConfig(Section):
    """What is shown while programs and agents run."""

    enabled: bool = setting(YES, "Show widget and dashboard.")
    widget: WidgetMode = setting(Word("auto", ("auto", "always", "hidden")), "When the widget is shown.")
    max_rows: int = setting(Integer(6, 1, 20), "Rows of the widget.")
    refresh_ms: int = setting(Integer(500, 100, 10_000), "Time between redraws.")
    event_history: int = setting(Integer(80, 1, 500), "Events kept for the dashboard.")
    halt_on_escape: bool = setting(YES, "Escape stops running children.")
    show_nested_tool_calls: bool = setting(YES, "Show the tool calls of children.")
    nested_tool_debounce_ms: int = setting(
        Integer(100, 0, 2_000), "Wait to gather nested updates; 0 shows each."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionConfig(Section):
    """How a session is shortened."""

    engine: CompactionEngine = setting(Word("fabric", ("fabric", "pi")), "Who compacts.")
    target_context_ratio: float = setting(
        Number(0.65, 0.25, 0.85), "Part of the context window in use after a compaction."
    )
    fill: CompactionFill = setting(
        Word("ratio", ("ratio", "tail")),
        "Keep raw entries up to the ratio, or only Pi's recent tail.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshConfig(Section):
    """Topics, shared state and actors."""

    enabled: bool = setting(YES, "Offer the mesh and restore actors.")
    root: str | None = setting(ABSENT, "Folder of the mesh instead of .pi/fabric/mesh.", widens="always")
    actor_scope: ActorScope = setting(Word("project", ("project", "session")), "Who shares actors.")
    max_event_bytes: int = setting(Integer(256 * KIB, 1_024, 4 * MIB), "Size of one event.")
    max_read_events: int = setting(Integer(500, 1, 10_000), "Events one read returns.")
    actor_poll_ms: int = setting(Integer(250, 50, 10_000), "Polling where file changes are not notified.")
    actor_queue_limit: int = setting(Integer(32, 1, 1_000), "Messages waiting for one actor.")
    event_context_chars: int = setting(
        Integer(40_000, 1_000, 1_000_000), "Session text given to an actor with an event."
    )
    actor_context_entries: int = setting(
        Integer(14, 1, 100), "Session entries given to an actor with an event."
    )
    backend: MeshBackend = setting(Word("file", ("file", "nats")), "Where the mesh lives.")
    url: str | None = setting(ABSENT, "Address of the NATS server.", widens="always")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryConfig(Section):
    """Recall over past sessions."""

    enabled: bool = setting(YES, "Offer recall.")
    index_dir: str | None = setting(ABSENT, "Folder of the index.", widens="always")
    max_sessions: int = setting(Integer(500, 1, 100_000), "Sessions one listing tells; 500 at most.")
    max_entry_chars: int = setting(Integer(2_000, 100, 1_000_000), "Indexed text of one entry.")
    index_thinking: bool = setting(NO, "Index thinking text.")
    index_tool_output: bool = setting(YES, "Index what tools returned.")
    hot_sessions: int = setting(Integer(50, 0, 100_000), "Newest sessions kept in full detail.")
    digest_terms: int = setting(Integer(200, 1, 10_000), "No effect; kept for old files.")
    max_cold_vocabulary_bytes: int = setting(
        Integer(512 * KIB, 2, 64 * MIB), "Vocabulary of one cold session."
    )
    max_cold_cache_bytes: int = setting(Integer(MIB, 512, 128 * MIB), "Record of one cold session.")
    max_sync_sessions: int = setting(Integer(10_000, 1, 1_000_000), "Sessions one search may index.")
    max_sync_source_bytes: int = setting(
        Integer(512 * MIB, 1_024, 8 * GIB), "Session bytes one search may read."
    )
    max_cache_cleanup_files: int = setting(
        Integer(100_000, 1, 1_000_000), "Index files one clean-up looks at."
    )
    regex_max_pattern_bytes: int = setting(Integer(KIB, 1, 65_536), "Length of a regular expression.")
    regex_max_haystack_terms: int = setting(
        Integer(20_000, 1, 1_000_000), "Terms a regular expression is tried on."
    )
    regex_max_haystack_bytes: int = setting(
        Integer(2 * MIB, 1_024, 128 * MIB), "Bytes a regular expression is tried on."
    )
    regex_timeout_ms: int = setting(Integer(250, 10, 10_000), "Time a regular expression may take.")
    verify: MemoryVerify = setting(Word("stat", ("stat", "hash")), "How a changed session is noticed.")
    sources: tuple[MemorySource, ...] = setting(SOURCES, "Whose sessions are searched.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaConfig(Section):
    """Guarded file transactions."""

    mode: SchemaMode = setting(
        Word("off", ("off", "audit", "enforce")),
        "Whether changes need a certificate.",
        widens="when_looser",
    )
    certificate_ttl_ms: int = setting(Integer(30_000, 1_000, 600_000), "Life of a certificate.")
    max_files: int = setting(Integer(100, 1, 1_000), "Files of one transaction.")
    max_bytes: int = setting(Integer(10 * MIB, 1_024, 100 * MIB), "Bytes of one transaction.")
    trusted_commands: Mapping[str, TrustedCommand] = setting(
        CommandMap(), "Commands that evidence may run.", widens="always"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricConfig(Section):
    """The whole configuration, every value usable as it is. `FabricConfig()` is the default."""

    full_code_mode: bool = setting(YES, "fabric_exec takes the place of Pi's own tools.")
    executor: ExecutorConfig = section(ExecutorConfig)
    approvals: ApprovalsConfig = section(ApprovalsConfig)
    mcp: McpConfig = section(McpConfig)
    subagents: SubagentsConfig = section(SubagentsConfig)
    capture: CaptureConfig = section(CaptureConfig)
    ui: UiConfig = section(UiConfig)
    compaction: CompactionConfig = section(CompactionConfig)
    mesh: MeshConfig = section(MeshConfig)
    memory: MemoryConfig = section(MemoryConfig)
    schema: SchemaConfig = section(SchemaConfig)


KEYS = tuple(walk(FabricConfig))
"""Every key, in the order of the file."""
