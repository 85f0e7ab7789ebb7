"""README.md of an experiment's folder."""

from runcard.encoding import JsonObject
from runcard.views.markdown import code, escape


def experiment_readme(name: str, said: JsonObject) -> str:
    """The page that greets whoever opens the folder of an experiment; `said` are the keys of its config.yaml."""
    about = f"\n\n{escape(said['description'])}" if said.get("description") else ""
    return f"""\
# {escape(name)}{about}

* **Experiment** {code(said["experiment_id"])}
* **Created** {escape(said["created_at"])}

## What lies here

| | |
|---|---|
| [`config.yaml`](config.yaml) | the configuration that every run begins with |
| [`data/`](data) | the inputs: every run records which they were, and their digests |
| [`outputs/`](outputs) | a directory for each run, with a `README.md` of its own |

## How to run it

```console
$ runcard run --experiment {name} -- COMMAND
```

or from Python:

```python
with runcard.record("experiments/{name}/outputs", experiment="{name}") as run:
    ...
```

## What came of it

```console
$ runcard experiment show {name}
$ runcard verify experiments/{name}/outputs
```
"""
