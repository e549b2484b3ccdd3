"""Something that is done again and again beside the test, which hears of it when it fails."""

from __future__ import annotations

from threading import Event, Thread

from tests.support.waiting import PATIENCE_S


class Loop:
    """Calls ``step`` from entering the context to leaving it, in a thread of its own.

    Args:
        name: of the thread.
        step: what is done; what it raises ends the loop.
        every_s: pause between two calls.
    """

    def __init__(self, name, step, *, every_s):
        self._step = step
        self._every_s = every_s
        self._stop = Event()
        self._failed = []
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def __enter__(self):
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_):
        """End after the call that is under way."""
        self._stop.set()
        self._thread.join(PATIENCE_S)

    @property
    def stopping(self) -> bool:
        """Whether the context was left."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raise what ended the loop, if anything did."""
        if self._failed:
            raise self._failed[0]

    def _run(self):
        try:
            while not self._stop.wait(self._every_s):
                self._step()
        except BaseException as error:  # noqa: BLE001  # check() raises it
            self._failed.append(error)
