"""Find an experiment by its name."""

from difflib import get_close_matches

from runcard.observe.ids import new_id
from runcard.store.experiments import Experiment, experiment_names, find_experiment


def find(name: str) -> Experiment | None:
    """The experiment of this name, if it has a folder; raises an error that says what is wrong with its config.yaml."""
    return find_experiment(name, new_id)


def similar_names(name: str) -> list[str] | None:
    """The experiments whose names are similar, best first; None if no experiment has a folder."""
    names = experiment_names()
    return get_close_matches(name, names, n=1) if names else None
