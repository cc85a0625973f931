# Shared by the scripts here; POSIX sh, sourced with the repository root as working directory.

# Where `make_venv` installs; a script may set another folder behind this.
VENV=.venv

say() { printf '%s\n' "$*" >&2; }

# Sets PYTHON to the first Python >= 3.11 that runs, or says what is missing and ends.
find_python() {
    for candidate in ${GSDLOCK_PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            PYTHON=$candidate
            return 0
        fi
    done
    say "Python 3.11 or newer is missing. On Debian: apt-get install python3 python3-venv"
    exit 1
}

# make_venv REQUIREMENT...: makes $VENV (.venv) where there is none and installs what is asked into it.
make_venv() {
    find_python
    if [ ! -x "$VENV/bin/python" ]; then
        "$PYTHON" -m venv "$VENV" 2>/dev/null || {
            rm -rf "$VENV"
            say "This Python cannot make a virtual environment. On Debian: apt-get install python3-venv"
            exit 1
        }
    fi
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$@" || {
        say "pip could not install what is needed (see above). Is a package index reachable?"
        exit 1
    }
}

need() {
    command -v "$1" >/dev/null 2>&1 || {
        say "$1 is missing: $2"
        exit 1
    }
}
