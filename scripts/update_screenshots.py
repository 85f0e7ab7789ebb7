"""Make the screenshots of the page in the documentation: `python scripts/update_screenshots.py [FOLDER]`.

Records are made up in a temporary home, served by `runcard serve`, and shown in Debian's Chromium. Each picture is a PNG
below 150 KB; the default folder is docs/images. Nothing of the user's own records is read.
"""  # noqa: INP001

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "src")]
_MOST = 150_000  # bytes of a picture
_DAY = 86400.0  # seconds
_AGENTS = (  # name, parent, role, model, status, first and last minute, tokens of input
    ("coordinator", None, "architect", "claude-opus-4-5", "completed", 0, 52, 160_000),
    ("backend", "coordinator", "backend_developer", "claude-sonnet-4-5", "completed", 3, 31, 120_000),
    ("tests", "backend", "testing_specialist", "claude-haiku-4-5", "error", 18, 29, 80_000),
    ("frontend", "coordinator", "frontend_developer", "claude-sonnet-4-5", "completed", 4, 40, 140_000),
    ("docs", "frontend", "tech_writer", "claude-haiku-4-5", "completed", 28, 38, 90_000),
    ("scout", "coordinator", "data_scientist", "gpt-5.2", "terminated", 6, 11, 30_000),
)
_SIZE: dict[str, Any] = {"viewport": {"width": 1180, "height": 760}, "reduced_motion": "reduce"}


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else _ROOT / "docs" / "images").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    sys.orig_argv[:] = ["python", "generate.py"]  # what the pictures show as the command
    with tempfile.TemporaryDirectory() as place:
        home, work = Path(place, "home"), Path(place, "shop")
        home.mkdir()
        work.mkdir()
        for name in [name for name in os.environ if name.startswith(("RUNCARD_", "CLAUDE", "CODEX", "XDG_"))]:
            del os.environ[name]
        os.environ["HOME"] = str(home)
        os.chdir(work)
        _take_all(work, folder, _views(home, work))
        os.chdir(_ROOT)
    return 0


def _views(home: Path, work: Path) -> list[tuple[str, str, dict[str, Any]]]:
    """Records, and the views to take: address, name, options of the browser."""
    from plans.projects import RubyProject  # noqa: PLC0415 - after the home is set
    from runcard.plans.known_projects import note_project  # noqa: PLC0415
    from runcard.web.plan import plan_url  # noqa: PLC0415
    from web.sample_records import import_session  # noqa: PLC0415

    clock = _MadeUpClock()
    run = [_run(number, clock) for number in range(12)][-1]
    import_session(home)
    _team(clock)
    plan = RubyProject(work).write()
    note_project(str(work))
    dark: dict[str, Any] = {"color_scheme": "dark"}
    phone: dict[str, Any] = {"viewport": {"width": 360, "height": 760}, "device_scale_factor": 1}
    return [
        ("/", "home.png", {}),
        (f"/runs/{run}", "run.png", {"viewport": {"width": 1180, "height": 1160}}),
        ("/sessions/checkout-team", "session.png", {}),
        ("/sessions/checkout-team", "session-dark.png", dark),
        (plan_url(str(plan)), "plan.png", {}),
        ("/experiment?name=personas", "experiment.png", {}),
        (f"/runs/{run}", "run-phone.png", phone),
    ]


class _MadeUpClock:
    """The clock of the runs: calls take the time that they are said to take."""

    def __init__(self) -> None:
        from runcard.observe.clock import Clock  # noqa: PLC0415 - after the home is set

        self.wall, self.monotonic = time.time() - 12 * _DAY, 0.0
        defaults = {"wall": lambda: self.wall, "monotonic": lambda: self.monotonic}
        Clock.__init__.__kwdefaults__ = defaults  # there is no other way in

    def pass_time(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds


def _run(number: int, clock: _MadeUpClock) -> str:
    import runcard  # noqa: PLC0415 - after the home is set

    Path("question.txt").write_text("Who buys tea at night?\n")
    config = {
        "temperature": number % 4 / 4,
        "examples": 2 + number % 3 * 3,
        "style": ("short", "long")[number % 2],
    }
    clock.pass_time(_DAY * 0.99)
    with runcard.record(
        model="claude-sonnet-4-5",
        provider="anthropic",
        config=config,
        experiment="personas",
        inputs=["question.txt"],
    ) as run:
        for seconds, step in ((2.4, "read"), (7.5, "draft"), (4.1, "review"), (5.2, "polish")):
            clock.pass_time(seconds + number / 10)
            usage = {"input": 4000 + 300 * number, "output": round(200 * seconds) + 40 * number}
            run.add_usage(usage, step=step, latency=seconds)
        run.log_metric("accuracy", round(0.6 + number % 4 * 0.05 + number % 3 * 0.04, 2))
        (run.path / "personas.md").write_text("# Personas\n\n* **Ada** reads before she buys.\n")
    return str(run.id)


def _team(clock: _MadeUpClock) -> None:
    """A team that works for an hour, with a call of a model every three minutes of each agent."""
    import runcard  # noqa: PLC0415 - after the home is set

    began = clock.wall
    instances: dict[str, runcard.SessionInstance] = {}
    with runcard.Session("checkout-team") as session:
        for minute in range(53):
            clock.pass_time(began + 60 * minute - clock.wall)
            for name, parent, role, model, status, first, last, tokens in _AGENTS:
                if minute == first:
                    instances[name] = session.start_instance(
                        name, role=role, model=model, parent=instances.get(parent or "")
                    )
                if first < minute <= last and (minute - first) % 3 == 0:
                    share = 3 * tokens // (last - first)
                    usage = {"input": share, "output": share // 12, "cache_read": share // 3}
                    instances[name].add_usage(usage, latency=4 + minute % 7)
                if minute == last:
                    error = "429 Too Many Requests" if status == "error" else None
                    instances[name].finish(status, error)


def _take_all(work: Path, folder: Path, views: list[tuple[str, str, dict[str, Any]]]) -> None:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    from web.chromium import ARGUMENTS, CHROMIUM, open_view  # noqa: PLC0415
    from web.page_server import PageServer  # noqa: PLC0415

    with PageServer(work, "--budget", "20") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for path, picture, options in views:
            page = browser.new_page(**(_SIZE | options))
            open_view(page, server.with_token(path))
            target = folder / picture
            page.screenshot(path=str(target))
            page.close()
            if target.stat().st_size > _MOST:
                raise SystemExit(f"{target} has more than {_MOST:,} bytes")
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
