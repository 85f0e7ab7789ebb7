"""Work that peers do as libraries, in their own environment: one piece for each line on stdin, its seconds on stdout.

Usage: peer_turns.py WORK FOLDER
"""

import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

Work = Callable[[], object]

RUNS = 10_000  # in which MLflow searches


def mlflow(folder: Path) -> Work:
    """One run with two parameters and two metrics, in SQLite, in two batches."""
    library = import_module("mlflow")
    library.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    library.set_experiment("bench")

    def record() -> None:
        with library.start_run():
            library.log_params({"model": "claude-sonnet-4-5", "provider": "anthropic"})
            library.log_metrics({"input_tokens": 1000, "output_tokens": 100})

    return record


def mlflow_search(folder: Path) -> Work:
    """The newest 50 of 10,000 runs with a metric above a value, in SQLite. The runs are written in bulk: one by one takes minutes."""
    library = import_module("mlflow")
    models = import_module("mlflow.store.tracking.dbmodels.models")
    sqlalchemy = import_module("sqlalchemy")
    place = f"sqlite:///{folder}/mlflow-search.db"
    library.set_tracking_uri(place)
    experiment = library.set_experiment("bench").experiment_id
    runs = [
        {
            "run_uuid": f"{number:032x}",
            "name": f"run-{number}",
            "status": "FINISHED",
            "user_id": "user",
            "start_time": number * 1000,
            "end_time": number * 1000 + 500,
            "lifecycle_stage": "active",
            "artifact_uri": "none",
            "experiment_id": int(experiment),
        }
        for number in range(RUNS)
    ]
    metrics = [
        {
            "key": "accuracy",
            "value": number % 1000 / 1000,
            "timestamp": 0,
            "step": 0,
            "run_uuid": f"{number:032x}",
        }
        for number in range(RUNS)
    ]
    params = [{"key": "model", "value": "claude-sonnet-4-5", "run_uuid": run["run_uuid"]} for run in runs]
    with sqlalchemy.create_engine(place).begin() as connection:
        for model, rows in (
            (models.SqlRun, runs),
            (models.SqlLatestMetric, metrics),
            (models.SqlParam, params),
        ):
            connection.execute(sqlalchemy.insert(model), rows)
    client = library.MlflowClient()

    def search() -> None:
        found = client.search_runs(
            [experiment], "metrics.accuracy > 0.95", max_results=50, order_by=["attributes.start_time DESC"]
        )
        if len(found) != 50:
            raise ValueError(f"found {len(found)} runs")

    return search


def sacred(folder: Path) -> Work:
    """One run with one metric, in files."""
    library = import_module("sacred")
    observers = import_module("sacred.observers")

    def record() -> None:
        experiment = library.Experiment("bench", save_git_info=False)
        experiment.observers.append(observers.FileStorageObserver(folder / "sacred"))
        experiment.main(lambda _run: _run.log_scalar("input_tokens", 1000))
        experiment.run(options={"--loglevel": "ERROR"})

    return record


def aim(folder: Path) -> Work:
    """One run with two parameters and two metrics."""
    library = import_module("aim")

    def record() -> None:
        run = library.Run(
            repo=str(folder / "aim"), system_tracking_interval=None, capture_terminal_logs=False
        )
        run["hparams"] = {"model": "claude-sonnet-4-5", "provider": "anthropic"}
        run.track(1000, name="input_tokens")
        run.track(100, name="output_tokens")
        run.close()

    return record


def detect_secrets(folder: Path) -> Work:
    """Search the file `text` with the default plugins, one line at a time, as it searches files."""
    scan_line = import_module("detect_secrets.core.scan").scan_line
    default_settings = import_module("detect_secrets.settings").default_settings
    lines = (folder / "text").read_text("latin-1").splitlines()

    def scan() -> None:
        with default_settings():
            for line in lines:
                list(scan_line(line))

    return scan


WORKS: dict[str, tuple[Callable[[Path], Work], Callable[[], float]]] = {
    "mlflow": (mlflow, time.perf_counter),
    "mlflow-search": (mlflow_search, time.perf_counter),
    "sacred": (sacred, time.perf_counter),
    "aim": (aim, time.perf_counter),
    "detect-secrets": (detect_secrets, time.process_time),
}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # peers print
    make, clock = WORKS[sys.argv[1]]
    work = make(Path(sys.argv[2]))
    for _ in sys.stdin:
        began = clock()
        work()
        print(clock() - began, file=answers, flush=True)


if __name__ == "__main__":
    main()
