"""The examples at the end of `--help`, one to three for each command, groups of commands included.

A test checks that every command has one, and that its options and arguments are accepted.
"""

_SOURCE = "app/services/order.rb"

EXAMPLES: dict[str, tuple[str, ...]] = {
    # Record
    "run": (
        "runcard run -- python generate.py",
        "runcard run --input 'in/*.md' --set seed=7 -- ./generate.sh",
        "runcard run --output 'results/*.json' -- python train.py",
    ),
    "rerun": (
        "runcard rerun --dry-run @latest",
        "runcard rerun outputs/2026-11-15_101500",
    ),
    "log-metric": ("runcard log-metric accuracy 0.93", "runcard log-metric loss 0.41 --step 200"),
    "close": ("runcard close", "runcard close outputs/2026-11-15_101500"),
    "session": (
        "runcard session start team-1",
        "runcard session instance writer --session team-1",
        "runcard session finish --session team-1",
    ),
    "session start": ("runcard session start team-1", 'eval "$(runcard session start team-1 --export)"'),
    "session instance": (
        "runcard session instance writer --session team-1 --role tech_writer --workspace work",
    ),
    "session event": (
        """runcard session event draft --session team-1 --instance writer --payload '{"page": 3}'""",
    ),
    "session log": ("./writer.sh | runcard session log --session team-1 --instance writer",),
    "session usage": ("runcard session usage @reply.json --session team-1 --instance writer",),
    "session finish": (
        "runcard session finish --session team-1 --instance writer --status error --error '429'",
        "runcard session finish --session team-1",
    ),
    "collect": ("runcard collect --template > session.yaml", "runcard collect session.yaml"),
    "experiment": (
        "runcard experiment create personas",
        "runcard run --experiment personas -- python generate.py",
        "runcard experiment show personas",
    ),
    "install": (
        "runcard install claude-code --dry-run",
        "runcard install claude-code codex --user",
        "runcard install cursor --mcp --allow-write",
    ),
    "uninstall": ("runcard uninstall claude-code codex --user",),
    "hook": ("runcard hook claude-code Stop", "runcard hook --catch-up"),
    "import": (
        "runcard import claude-code",
        "runcard import codex --all --since 7d",
        "runcard import claude-code ~/backup/claude --session 0f7c2a --json",
    ),
    "experiment create": ("runcard experiment create personas --config base.yaml",),
    "experiment delete": ("runcard experiment delete personas",),
    "experiment list": ("runcard experiment list",),
    "experiment show": ("runcard experiment show personas",),
    # Look
    "serve": ("runcard serve", "runcard serve --port 0 --no-open --budget 50"),
    "ls": (
        "runcard ls runs --since 7d",
        "runcard ls --where 'status = failed and model ~ haiku'",
        "runcard ls --since 7d --text 'permission denied' --transcripts",
        "runcard ls runs --columns id,config.temperature,metric.accuracy --sort -metric.accuracy",
    ),
    "query": (
        "runcard query --views",
        "runcard query 'SELECT model, sum(cost_usd) FROM v1_counted_usage GROUP BY model'",
    ),
    "whence": ("runcard whence report.pdf", "runcard whence sha256:9f86d081…"),
    "index": ("runcard index", "runcard index ~/projects", "runcard index --watch"),
    "show": (
        "runcard show @latest",
        "runcard show artifacts/2026-11-15_10-15-00-team-1 --instance lead",
    ),
    "diff": ("runcard diff @latest~1 @latest",),
    "log": (
        "runcard log @latest",
        "runcard log artifacts/2026-11-15_10-15-00-team-1 lead",
    ),
    "costs": (
        "runcard costs --by model,label.team --since 30d",
        "runcard costs --budget 50",
        "runcard costs --source claude-code",
        "runcard costs --source all --by project,model --since 30d",
        "runcard costs --source codex --by agent,session --json ~/.codex",
    ),
    "ledger": ("runcard ledger", "runcard ledger artifacts"),
    # Check
    "verify": (
        "runcard verify outputs",
        "runcard verify --signers signers outputs",
        "runcard verify -q --pin ~/outputs.pin outputs",
    ),
    "sign": ("runcard sign @latest --key ~/.runcard.key", "runcard sign @latest --ssh ~/.ssh/id_ed25519"),
    "keygen": ("runcard keygen --output ~/.runcard.key --name alice@example.org",),
    "timestamp": (
        "runcard timestamp @latest --tsa https://tsa.example.org/tsr --tsa-certs tsa.pem",
        "runcard timestamp @latest --request run.tsq",
        "runcard timestamp @latest --request run.tsq --response run.tsr",
    ),
    "anchor": (
        "runcard anchor outputs --tsa https://tsa.example.org/tsr --tsa-certs tsa.pem",
        "runcard anchor outputs --proof @latest",
    ),
    "validate": ("runcard validate outputs", "runcard validate --strict run.json team.json"),
    "schema": ("runcard schema generation > generation.schema.json",),
    # Keep
    "amend": (
        "runcard amend @latest note 'Used in the report.'",
        "runcard amend @latest evaluation accuracy=0.93",
    ),
    "redact": (
        "runcard redact outputs/2026-11-15_101500 --file 'in/*.md' --reason GDPR",
        "runcard redact outputs/2026-11-15_101500 --rule anthropic-key --reason leak",
    ),
    "migrate": ("runcard migrate --dry-run team.json", "runcard migrate --to 2.0.0 team.json"),
    "archive": ("runcard archive outputs/2026-11-15_101500", "runcard archive --older-than 30d"),
    "extract": ("runcard extract 2026-11-15_101500 output.log -o /tmp",),
    "restore": (
        "runcard restore 2026-11-15_101500",
        "runcard restore backup/2026-11/2026-11-15_101500.tar.gz --to outputs",
    ),
    "rm": ("runcard rm outputs/2026-11-15_101500", "runcard rm @latest --yes --reason 'a test'"),
    "prune": ("runcard prune --older-than 90d --dry-run", "runcard prune --max-size 20GiB --yes"),
    "export": (
        "runcard export @latest -o personas.tar.gz",
        "runcard export runs --to csv --since 30d -o runs.csv",
        "runcard export @latest --to html -o run.html",
    ),
    "import-bundle": (
        "runcard import-bundle personas.tar.gz personas",
        "cd personas && runcard rerun outputs/2026-11-15_101500",
    ),
    # Plans
    "plan": (
        f"runcard plan pipeline {_SOURCE} --method call",
        f"runcard plan status {_SOURCE}",
    ),
    "plan analyze": (
        f"runcard plan analyze {_SOURCE} --method call",
        f"runcard plan analyze {_SOURCE} --all-methods --write",
    ),
    "plan begin": (f"runcard plan begin architect {_SOURCE}",),
    "plan check": (
        "runcard plan check --changed",
        "runcard plan check --changed origin/main --annotations github",
    ),
    "plan diff": ("runcard plan diff old.yml new.yml",),
    "plan extract": ("runcard plan extract spec/services/order_spec.rb",),
    "plan factories": ("runcard plan factories --all",),
    "plan guide": ("runcard plan guide architect",),
    "plan list": ("runcard plan list",),
    "plan mark": (
        f"runcard plan mark architect {_SOURCE} --completed --version 1.0",
        f"runcard plan mark polisher {_SOURCE} --skipped 'nothing to polish'",
    ),
    "plan optimize": (f"runcard plan optimize {_SOURCE}",),
    "plan path": (f"runcard plan path {_SOURCE}",),
    "plan pipeline": (f"runcard plan pipeline {_SOURCE} --method call",),
    "plan review": (
        f"runcard plan review {_SOURCE}",
        f"runcard plan review {_SOURCE} --coverage coverage/.resultset.json",
    ),
    "plan skeleton": (f"runcard plan skeleton {_SOURCE}",),
    "plan status": (f"runcard plan status {_SOURCE}",),
    "plan targets": (f"runcard plan targets {_SOURCE}",),
    "plan validate": (f"runcard plan validate {_SOURCE}",),
    # Set up
    "doctor": ("runcard doctor", "runcard doctor --json"),
    "mcp": ("runcard mcp", "runcard mcp --store outputs --allow-write"),
    "config": ("runcard config", "RUNCARD_OUTPUTS=runs runcard config --json"),
    "config trust": ("runcard config trust", "runcard config trust --list"),
    "completion": ("""echo 'eval "$(runcard completion bash)"' >> ~/.bashrc""",),
    "demo": ("runcard demo /tmp/runcard-demo", "runcard demo --examples"),
}
