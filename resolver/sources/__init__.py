"""Where packs come from: path, archive, git, npm, builtin."""
