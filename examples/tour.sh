#!/usr/bin/env bash
# A short tour of runcard: `make demo` runs it. It works in a directory of its own, which it removes at the end,
# and needs no network and no keys. Some of its commands fail on purpose.
set -u
command -v runcard >/dev/null || { echo "Error: runcard is not on the PATH; try \`make demo\`" >&2; exit 1; }
examples=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cp "$examples/team.json" "$examples/run.json" "$folder"
cd "$folder" || exit 1

bold="" dim="" plain=""
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; fi

step() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
try() {
  printf '%s$ %s%s\n' "$bold" "$1" "$plain"
  bash -c "$1" 2>&1
  local code=$?
  [ $code -eq 0 ] || printf '%s(exit code %s)%s\n' "$dim" $code "$plain"
}

step "1. Two documents: one about a run, one about a team of agents. Are they valid?"
try 'runcard validate run.json team.json'

step "2. Somebody edits the team's document: a wrong sum, and an end before its beginning."
try 'sed -e s/0.64/6.4/ -e s/14:31/13:31/ team.json > broken.json'
try 'runcard validate broken.json'

step "3. And the run's configuration: its digest tells."
try 'sed s/moderate/high/ run.json > edited.json'
try 'runcard validate edited.json'

step "4. The same for programs: --json says where each finding stands, what was found and how to mend it."
try 'runcard validate --json edited.json'

step "5. Bring the team's document to the next version of its format. First look, then do it."
try 'runcard migrate --to 2.0.0 --dry-run team.json'
try 'runcard migrate --to 2.0.0 team.json'
try 'runcard validate team.json'

step "6. Every format is a published JSON Schema, for editors and other languages."
try 'runcard schema team | head -n 6'

step "What to read next"
cat <<'END'
README.md              what runcard is for
docs/validation.md     how documents are checked, and what the exit codes mean
docs/formats/          each kind of document, field by field
docs/library.md        the same from Python
END
