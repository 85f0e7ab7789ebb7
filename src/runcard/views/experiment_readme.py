"""README.md of an experiment's folder."""

from runcard.encoding import JsonObject
from runcard.views.markdown import code, escape


def experiment_readme(name: str, config: JsonObject) -> str:
    """The whole file; `config` holds the keys of the experiment's config.yaml."""
    description = f"\n\n{escape(config['description'])}" if config.get("description") else ""
    return f"""\
# {escape(name)}{description}

* **Experiment** {code(config["experiment_id"])}
* **Created** {escape(config["created_at"])}

## Contents

| | |
|---|---|
| [`config.yaml`](config.yaml) | the default configuration of every run |
| [`data/`](data) | the inputs: every run records their names and digests |
| [`outputs/`](outputs) | a directory for each run, with its own `README.md` |

## Run it

```console
$ runcard run --experiment {name} -- COMMAND
```

or from Python:

```python
with runcard.record("experiments/{name}/outputs", experiment="{name}") as run:
    ...
```

## Results

```console
$ runcard experiment show {name}
$ runcard verify experiments/{name}/outputs
```
"""
