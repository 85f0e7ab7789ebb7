"""Find an experiment by its name."""

from runcard.observe.ids import new_id
from runcard.store.experiments import Experiment, find_experiment


def find(name: str) -> Experiment | None:
    """The experiment of this name, if it has a folder; raises an error that says what is wrong with its config.yaml."""
    return find_experiment(name, new_id)
