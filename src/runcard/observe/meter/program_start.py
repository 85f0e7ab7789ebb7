"""A known program is started by a script, under the meter: what it gets so that it calls the relay.

This is what `adapt` does for a command of `runcard run`, in the program's own folder and environment.
"""

import json
import os
from typing import Any

from runcard.observe.meter.adapters import Adaptation, adapt, without_variables
from runcard.observe.meter.network_variables import network_of
from runcard.observe.meter.program_folder import ProgramFolder, routes_of
from runcard.observe.meter.routes import METER, true_url


def adapt_start(
    folder_path: str, path: str, words: list[str], environment: dict[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The words and the environment of a program that is about to be started; `path` is its file."""
    folder = ProgramFolder(folder_path)
    state = folder.read_state()
    given = _without_meter(environment, state["set"], state["before"], state["routes"])
    network: dict[str, str] | None = None
    while True:
        routes = routes_of(state, folder, network)
        adaptation = Adaptation(words, given, routes, os.getcwd(), folder.write_private)
        adapt(adaptation, path)
        found = network_of(adaptation.upstream_environment)
        if network is not None or found == state["network"]:
            break
        network = found  # as in the settings of Claude Code
    if adaptation.expects_calls:
        folder.add_start(adaptation.client, os.getcwd(), adaptation.gaps)
    meter = {METER: json.dumps(routes.upstreams)}
    return adaptation.arguments, given | adaptation.variables | _proxies(state, given) | meter


def _without_meter(
    environment: dict[str, str],
    is_set: dict[str, str],
    before: dict[str, str],
    upstreams: dict[str, str],
) -> dict[str, str]:
    """The environment as it would be without the meter. What a script has set itself stays."""
    given = without_variables(environment, is_set, before)
    return {
        name: true_url(value, upstreams) if value.startswith("http") else value
        for name, value in given.items()
        if name != METER
    }


def _proxies(state: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    """The variables of the proxy of the run, unless a script has set a proxy itself."""
    own = {
        name: value
        for name, value in state["proxies"].items()
        if given.get(name) == state["before"].get(name)
    }
    return own if {"HTTPS_PROXY", "https_proxy"} <= own.keys() else {}
