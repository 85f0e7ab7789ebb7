"""The calls of a session that is imported, one by one, as its journal lists them.

They are what sums are made of: each has its own time, and is known by digests of the ids that the provider gave it, so that it counts
once, whoever else recorded it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache

from runcard.accounting import Prices, json_number
from runcard.documents.times import format_time_ms
from runcard.encoding import JsonObject
from runcard.masking import mask_text
from runcard.operations.sessions.call_costs import CallCharge, CallSums
from runcard.transcripts import claude_code
from runcard.transcripts.activity import UNATTRIBUTED
from runcard.transcripts.calls import CLASSES, Call, CallTable

_AT_ONCE = 500  # calls in one event
_ID_BYTES = 8


class CallLists:
    """The calls of a table by session."""

    def __init__(self, table: CallTable, prices: Prices) -> None:
        self._table, self._prices = table, prices
        self._keys: dict[str | None, list[bytes]] = {}
        for key, call in table.items():
            self._keys.setdefault(call.origin.session, []).append(key)

    def of_session(
        self,
        session: str | None,
        instances: Mapping[str | None, str],
        metered: Collection[bytes] = (),
        *,
        masks: bool = True,
    ) -> Iterator[JsonObject]:
        """The payloads of the events; `instances` are the ids by agent, `metered` the keys of the calls that a run has metered."""
        calls = ((key, self._table.call(key)) for key in self._keys.get(session, ()))
        ordered = sorted(calls, key=lambda each: (each[1].time, each[0]))
        for start in range(0, len(ordered), _AT_ONCE):
            some = ordered[start : start + _AT_ONCE]
            charges = self._charges([call for _, call in some])
            listed = [
                _fields(key, call, charge, instances, is_metered=key in metered, masks=masks)
                for (key, call), charge in zip(some, charges, strict=True)
            ]
            yield {"count": len(listed), "calls": listed}

    def _charges(self, calls: Sequence[Call]) -> list[CallCharge]:
        sums: CallSums[int] = CallSums(self._prices, self._table.kinds)
        for number, call in enumerate(calls):
            sums.add(number, call.time, self._table.kind_number(call.kind), call.counts)
        return [charge for _, _, charge in sums.charges()]


def _fields(
    key: bytes,
    call: Call,
    charge: CallCharge,
    instances: Mapping[str | None, str],
    *,
    is_metered: bool,
    masks: bool,
) -> JsonObject:
    kind, agent, request = call.kind, call.origin.agent_id, key[_ID_BYTES:]
    known = {name: call.counts[bit] for bit, name in enumerate(CLASSES) if kind.known >> bit & 1}
    name = "cost_usd" if charge.is_complete else "known_cost_usd"
    fields = {
        "timestamp": format_time_ms(datetime.fromtimestamp(call.time / 1000, UTC))
        if call.time >= 0
        else None,
        "instance_id": instances.get(None if agent == UNATTRIBUTED else agent),
        "model": _masked(kind.model, masks=masks),
        "provider": _masked(kind.provider, masks=masks),
        "service_tier": kind.service_tier,
        "response": key[:_ID_BYTES].hex(),
        "request": request.hex() if call.origin.tool == claude_code.NAME and any(request) else None,
        "tokens": known,
        "token_source": kind.source,
        name: json_number(charge.known) if charge.is_complete or charge.known else None,
        "observer": "meter" if is_metered else "transcript",
    }
    return {name: value for name, value in fields.items() if value is not None}


@lru_cache(maxsize=1000)
def _masked(name: str | None, *, masks: bool) -> str | None:
    return mask_text(name).value if masks and name is not None else name
