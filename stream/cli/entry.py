"""Where the process ``tocsin`` begins: signals first, then the command, then its last sentence.

The kernel lets nothing but a handler end the first process of a container: without one, SIGTERM is
ignored and the container killed when its grace is over. So handlers are there before anything is
imported that takes time. Until the command is at work there is nothing to put in order, and
SIGTERM ends the process at once; from then on it unwinds, as Ctrl-C does, for five seconds at most.
So does SIGHUP, for whoever closes a terminal: a half-written file of events must not stay behind.
What has no end takes its signals over (``stream/kafka/host.py``, ``stream/kafka/tasks.py``) or says
that it has none.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import NoReturn

    from stream.logs.lines import Log

__all__ = ["main"]

_BY_SIGNAL: Final = 128  # as a shell counts: this, and the signal's number
_INTERRUPTED: Final = 1  # click's
_MISTAKE: Final = 70
_UNWIND_S: Final = 5.0


def main() -> NoReturn:
    """Run the command that the process was called with, and end with its exit code."""
    _handle(_end)
    # Its threads spin where they have nothing to do: a fifth of a check's processor time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from stream.cli.main import main as command  # noqa: PLC0415  # takes time: signals come first
    from stream.logs.clients import route  # noqa: PLC0415  # the same

    route(_log)
    told = _Told()
    _handle(told)
    try:
        command(prog_name="tocsin", obj=told)
    except KeyboardInterrupt:
        _leave(told.code)
    except SystemExit as ending:
        if told.so or ending.code == _INTERRUPTED:
            _leave(told.code)
        raise
    except Exception as error:  # noqa: BLE001  # promise 6: its text and traceback may quote an event
        from stream.logs.places import place_of  # noqa: PLC0415  # hardly ever needed

        place = place_of(error)
        sys.stderr.write(f"error: a mistake in Tocsin: {type(error).__name__} at {place}\n")
        sys.exit(_MISTAKE)
    sys.exit(0)


def _log() -> Log:
    from stream.logs.lines import Log  # noqa: PLC0415  # most commands have nothing to log

    return Log(sys.stderr)


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    """Take the signals that end a process, but for a SIGHUP that is ignored (nohup)."""
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    """End at once: nothing has been opened yet."""
    _say(number)
    os._exit(_BY_SIGNAL + number)


def _leave(code: int) -> NoReturn:
    """End after an interrupt that has unwound everything.

    Python would end by SIGINT instead, whatever the exit code, where the interrupt passed through
    an ``exec`` of some library's import.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


class _Told:
    """A handler that unwinds as Ctrl-C does, but not for ever.

    A library may hold the interrupt back, or wait for what does not come. It is the object of
    click's context: a command that has no end says so, and the group asks for the exit code.
    """

    def __init__(self) -> None:
        from threading import Timer  # noqa: PLC0415  # signals come first

        self.so = False
        self.code = _INTERRUPTED
        self.endless = False
        self._patience = Timer(_UNWIND_S, self._cut_off)
        self._patience.daemon = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt whatever is at work; once more, do nothing."""
        if self.so:
            return
        self.so = True
        self.code = 0
        if not self.endless:
            self.code = _BY_SIGNAL + number
            _say(number)
        with suppress(RuntimeError):  # no thread is to be had: nothing cuts it off
            self._patience.start()
        interrupt = signal.getsignal(signal.SIGINT)  # asyncio has one that cancels in order
        if callable(interrupt):
            interrupt(number, frame)
        else:
            sys.exit(self.code)

    def _cut_off(self) -> None:
        os._exit(self.code)


def _say(number: int) -> None:
    """Say why, past buffers that the interrupted code may hold."""
    with suppress(OSError):
        name = signal.Signals(number).name
        os.write(2, f"tocsin: stopped by {name} before it was done\n".encode())


if __name__ == "__main__":
    main()
