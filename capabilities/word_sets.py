"""The closed sets of the capability vocabulary whose words are only checked, and carried for others.

As in `vocabulary`, a word outside its set is an error when a descriptor is validated, words are spelled as
they stand in `capability.json`, and nothing else in the house spells these sets again. Sources: the GSD
capability vocabulary (ADR-1016 with the closure of `hostBehaviors`), and our own list of variables.
"""

from __future__ import annotations

# hostIntegration: carried for the orchestration engine, not read by the resolver. Every axis of strings also
# takes UNDOCUMENTED.
UNDOCUMENTED = "undocumented"
EMBEDDING_MODES = frozenset({"imperative", "declarative"})
COMMAND_SURFACES = frozenset({"slash-file", "slash-programmatic", "slash-toml", "palette", "prose-only"})
MODEL_MODES = frozenset({"active", "passive"})
HOOK_BUSES = frozenset({"host", "engine", "none"})
STATE_IO = frozenset({"filesystem", "sandboxed-storage", "session-log-append"})
TRANSPORTS = frozenset({"mcp", "native-extension"})
HOST_RUNTIMES = frozenset({"node", "bun", "sandboxed-web", "python", "go", "rust", "electron", "other"})
EFFORT_SURFACES = frozenset({"argv", "none"})
SUBAGENT_TOOLKITS = frozenset({"full", "read-only", "built-in-only"})
ISOLATIONS = frozenset({"harness-worktree", "orchestrator-worktree", "none"})

# The 59 keys of hostBehaviors; `reviewerCli` was one and is now the `reviewer` body.
HOST_BEHAVIORS = frozenset(
    {
        "agentFileExtension",
        "agentFrontmatterExtensions",
        "agentManifestStyle",
        "agentTomlFiles",
        "attributionConfigResolver",
        "attributionSource",
        "authorsCanonicalWorkflow",
        "brandingRewrites",
        "cleanupSkillSidecars",
        "clineRulesSurface",
        "combinedFamilyInstall",
        "commandBodyConverter",
        "doneBannerStyle",
        "flatCommandDir",
        "frontmatterDialect",
        "globalDirResolver",
        "hookPathStyle",
        "hooksJsonSurface",
        "hyphenNameAgentBody",
        "installsCommandBodiesForWorkflowDelegation",
        "legacyCommandsGsdCleanup",
        "legacyCommandsGsdInstallMigration",
        "legacyCommandsGsdUninstall",
        "legacyDevinSkillsCleanup",
        "localCommandsViaRules",
        "localInstallDeferred",
        "localInstallStyle",
        "localTargetIsProjectRoot",
        "managedHookEvents",
        "mcpCompanion",
        "namedSubagentsSupported",
        "nativeModelAliases",
        "nativePlugin",
        "noPathRewrite",
        "ownsClaudePaths",
        "permissionsSchema",
        "pluginOnlyInstall",
        "projectInstructionFile",
        "reapplyCommand",
        "reportCommandsDir",
        "reportSkillsCount",
        "retiredArtifacts",
        "settingsFileByScope",
        "sharedHooksDirName",
        "skillFrontmatterVersion",
        "skillPriorityFrontmatter",
        "skillsGlobalOnboarding",
        "skillsManifestPrefix",
        "skipCodexSkillsManifest",
        "skipHomePrefixSubstitution",
        "skipSettingsUi",
        "skipSharedHooksInstall",
        "skipUpdateBannerCommand",
        "soloStageMetadata",
        "sourceMarkerFile",
        "tomlConfigInstall",
        "trackCategoryDescription",
        "verificationStyle",
        "writeCategoryDescription",
    }
)
# Keys that were retired, with the field that replaces them.
REMOVED_HOST_BEHAVIORS = {"reviewerCli": "reviewer"}

# The reviewer body.
PROMPT_CHANNELS = frozenset({"stdin", "argv", "argv-file-ref", "none"})
OUTPUT_CHANNELS = frozenset({"stdout", "file-arg"})
EFFORT_CHANNELS = frozenset({"none", "argv", "env"})
EFFORTS = frozenset({"minimal", "low", "medium", "high", "xhigh", "max"})
MODEL_DISCOVERIES = frozenset({"none", "first-from-models-endpoint"})
EMPTY_OUTPUTS = frozenset({"stub-with-stderr", "handler-owned"})
EVIDENCE_CLASSES = frozenset({"source-grounded", "diff-only"})
REVIEWER_HANDLERS = frozenset({"antigravity", "openai-compatible", "opencode"})
# Variables that a lane must not set: each makes a program run or load something else. Compared in upper case.
DENIED_LANE_VARIABLES = frozenset(
    {
        "BASH_ENV",
        "DYLD_FALLBACK_LIBRARY_PATH",
        "DYLD_FRAMEWORK_PATH",
        "DYLD_INSERT_LIBRARIES",
        "DYLD_LIBRARY_PATH",
        "ENV",
        "GIT_EXEC_PATH",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "NODE_OPTIONS",
        "NODE_PATH",
        "PATH",
        "PERL5LIB",
        "PERL5OPT",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSTARTUP",
        "RUBYLIB",
        "RUBYOPT",
        "SHELL",
    }
)

# Features: the points of the GSD loop, in the order in which they come.
LOOP_POINTS = (
    "discuss:pre",
    "discuss:post",
    "plan:pre",
    "plan:post",
    "execute:pre",
    "execute:wave:pre",
    "execute:wave:post",
    "execute:post",
    "verify:pre",
    "verify:post",
    "ship:pre",
    "ship:post",
)
# Step of the loop -> the agent roles that a contribution may go into.
LOOP_ROLES = {
    "discuss": frozenset({"orchestrator"}),
    "plan": frozenset({"researcher", "planner", "checker"}),
    "execute": frozenset({"executor", "verifier"}),
    "verify": frozenset({"orchestrator"}),
    "ship": frozenset({"orchestrator"}),
}
# Artifact that the loop itself produces -> the point from which it is there.
LOOP_ARTIFACTS = {
    "CONTEXT.md": "discuss:post",
    "PLAN.md": "plan:post",
    "SUMMARY.md": "execute:post",
    "UAT.md": "verify:post",
}
ON_ERROR = frozenset({"skip", "halt"})

# Names that a JavaScript engine reading the same descriptor would take for something else.
RESERVED_NAMES = frozenset({"__proto__", "constructor", "prototype"})
