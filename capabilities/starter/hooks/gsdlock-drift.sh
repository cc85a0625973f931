#!/bin/sh
# At the start of a session: one line when what gsdlock installed is not as the lock says. Never an error and
# never a delay where gsdlock is absent; nothing is changed.

command -v gsdlock >/dev/null 2>&1 || exit 0

# Status 1 means differences. A report is asked for as well: a broken installation may end with 1 too.
report=$(gsdlock status --exit-code </dev/null 2>/dev/null)
if [ $? -eq 1 ] && [ -n "$report" ]; then
    echo "gsdlock: what is installed differs from the lock; 'gsdlock status' says where, nothing was changed."
fi
exit 0
