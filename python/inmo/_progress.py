"""Long calls: a progress bar, the library's notes through logging, and Ctrl-C."""

from __future__ import annotations

import importlib.util
import logging
import math
import signal
import sys
import threading
from typing import Any, Callable, Optional

from ._errors import Interrupted
from ._library import Hooks, InterruptedHook, LogHook, ProgressHook

log = logging.getLogger("inmo")

# A function that is told the progress of training: stage, done, total, seconds, loss, validation score.
Callback = Callable[[str, float, float, float, float, float], Any]


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell else None
    return found is not None and "IPKernelApp" in getattr(found, "config", {})


def wants_bar(progress: Optional[bool]) -> bool:
    """None: where somebody watches, in a terminal or a notebook."""
    if progress is None:
        return _in_notebook() or (hasattr(sys.stderr, "isatty") and sys.stderr.isatty())
    return bool(progress)


class _Line:
    """A bar without tqdm: one line on standard error that is written over."""

    def __init__(self) -> None:
        self.width = 0

    def show(self, stage: str, done: float, total: float, unit: str, more: str) -> None:
        share = f"{100 * done / total:5.1f} %" if total > 0 else f"{done:.0f} {unit}"
        text = f"{stage} {share} {more}"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


class _Tqdm:
    """A bar of tqdm, one for each stage."""

    def __init__(self, tqdm: Any) -> None:
        self.tqdm, self.bar, self.stage = tqdm, None, ""

    def show(self, stage: str, done: float, total: float, unit: str, more: str) -> None:
        if stage != self.stage:
            self.close()
            self.bar = self.tqdm(total=total if total > 0 else None, desc=stage, unit=" " + unit, leave=False)
            self.stage = stage
        bar: Any = self.bar
        bar.n = min(round(done, 2), total) if total > 0 else done
        bar.set_postfix_str(more, refresh=False)
        bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar, self.stage = None, ""


def _make_bar() -> Any:
    """A widget in a notebook that can have one, else a line of text: tqdm's, or our own without tqdm."""
    try:
        if _in_notebook() and importlib.util.find_spec("ipywidgets"):
            from tqdm.notebook import tqdm
        else:
            from tqdm.std import tqdm
    except ImportError:
        return _Line()
    return _Tqdm(tqdm)


class Watch:
    """The hooks of one long call, as a context: ``with Watch() as watch: lib.train(..., watch.hooks, ...)``.

    In the main thread SIGINT is taken over meanwhile: it makes the call stop soon, with a checkpoint if there is one,
    and becomes a KeyboardInterrupt at the end. An exception in a callback ends the call and is raised from it.
    """

    def __init__(
        self, progress: Optional[bool] = None, callback: Optional[Callback] = None, quiet: bool = False
    ) -> None:
        self.bar = _make_bar() if wants_bar(progress) else None
        self.callback, self.quiet = callback, quiet
        self.stopped = False
        self.fault: Optional[BaseException] = None
        self._before: Any = None
        self._owns_signal = False
        self.hooks = Hooks(None, LogHook(self._log), ProgressHook(self._progress), InterruptedHook(self._interrupted))

    def _log(self, context: Any, level: int, sentence: bytes) -> None:
        try:
            text = sentence.decode("utf-8", "replace")
            log.log(logging.WARNING if level and not self.quiet else logging.INFO, "%s", text)
        except BaseException as fault:
            self._keep(fault)

    def _progress(self, context: Any, pointer: Any) -> None:
        try:
            told = pointer.contents
            stage = told.stage.decode()
            if self.bar:
                more = ", ".join(
                    f"{name} {value:.4f}"
                    for name, value in (("loss", told.loss), ("ndcg@20", told.score), ("best", told.best_score))
                    if not math.isnan(value)
                )
                self.bar.show(stage, told.done, told.total, told.unit.decode(), more)
            if self.callback:
                self.callback(stage, told.done, told.total, told.seconds, told.loss, told.score)
        except BaseException as fault:
            self._keep(fault)

    def _interrupted(self, context: Any) -> int:
        return 1 if self.stopped else 0

    def _keep(self, fault: BaseException) -> None:
        if self.fault is None:
            self.fault = fault
        self.stopped = True

    def _on_signal(self, number: int, frame: Any) -> None:
        self.stopped = True

    def __enter__(self) -> "Watch":
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            # Somebody's own handler, or none: not ours to replace.
            if self._before is signal.default_int_handler:
                signal.signal(signal.SIGINT, self._on_signal)
                self._owns_signal = True
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if self._owns_signal:
            signal.signal(signal.SIGINT, self._before)
        if self.bar:
            self.bar.close()
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        if self.stopped and kind is None:  # it ended before it noticed
            raise Interrupted("stopped on request")
