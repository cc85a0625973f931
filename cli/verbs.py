"""The verbs: name, module and one line of help. Only the module of the verb asked for is imported."""

from __future__ import annotations

# Each module has `arguments(parser)`, which declares options and example, and `run(session, options)`.
VERBS: dict[str, tuple[str, str]] = {
    "init": ("init", "write a gsdlock.toml from the hosts found"),
    "resolve": ("resolve", "make or check the lock"),
    "apply": ("apply", "make the targets match the lock"),
    "diff": ("diff", "show what changes between locks, generations and disk"),
    "status": ("status", "show where the targets stand"),
    "history": ("history", "list the generations of the targets"),
    "rollback": ("rollback", "go back to a former generation"),
    "restore": ("restore", "bring back a file that a transaction displaced"),
    "repair": ("repair", "put our files and entries back as they should be"),
    "uninstall": ("uninstall", "take out everything that gsdlock put in"),
    "why": ("why", "say where a file or an entry comes from"),
    "verify": ("verify", "check installed files and stored content against their digests"),
    "sign": ("sign", "sign the lock, or a folder, with an SSH key"),
    "log": ("log", "list the receipts of decisions and outcomes"),
    "doctor": ("doctor", "look for damage in gsdlock's own files, and put it right"),
    "gc": ("gc", "delete stored content that nothing names"),
    "config": ("config", "list the settings in force and where they come from"),
    "runtimes": ("runtimes", "list the hosts that can be installed into"),
    "lanes": ("lanes", "list the review lanes that can run on this machine"),
    "overlay": ("overlay", "read, consent to and use third-party capabilities"),
    "import": ("import_", "take over what the reference installer (npx) put in"),
    "features": ("features", "list the features of the packs and where they are active"),
}
