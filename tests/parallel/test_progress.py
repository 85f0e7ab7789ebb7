"""Progress: called by one thread, now and then, and at last with everything."""

import threading

import pytest

from parallel.directories import ManyFiles
from runcard.checksums import hash_files
from runcard.parallel.helper_pool import HelperThread
from runcard.parallel.progress import Amount, ProgressCounter


def test_the_totals_are_what_is_done_and_what_is_expected() -> None:
    amounts: list[Amount] = []
    counter = ProgressCounter(amounts.append)
    counter.add(1, 10)
    counter.finish()
    counter.expect(2, 20)
    counter.add(1, 5)
    counter.finish()
    assert amounts == [Amount(1, 10), Amount(2, 15, 3, 30)]


class TestHashing:
    def test_the_last_call_has_everything(self, many: ManyFiles) -> None:
        calls: list[tuple[int, int]] = []
        hash_files(*many, progress=lambda *so_far: calls.append(so_far))
        assert calls[-1] == (len(many.files), sum(map(len, many.files.values())))
        assert calls == sorted(calls)

    def test_it_is_called_now_and_then_by_the_thread_that_asked(
        self,
        many: ManyFiles,
        eager: list[HelperThread],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr("runcard.parallel.progress.PERIOD", 0)
        callers: list[int] = []
        hash_files(*many, progress=lambda *_: callers.append(threading.get_ident()))
        assert len(callers) > 5
        assert set(callers) == {threading.get_ident()}
        assert len(eager) == 1

    def test_it_is_not_called_all_the_time(self, many: ManyFiles, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("runcard.parallel.progress.PERIOD", 1000)
        calls: list[object] = []
        hash_files(*many, progress=lambda *so_far: calls.append(so_far))
        assert len(calls) == 1
