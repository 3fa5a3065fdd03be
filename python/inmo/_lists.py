"""What questions return: lists with scores and reasons, explanations, evaluations. Each has a table for people."""

from __future__ import annotations

import html
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np


class Entry(NamedTuple):
    """An item (or user) and its score."""

    id: str
    score: float


def _frame(columns: Dict[str, Any]) -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("a DataFrame needs pandas (pip install pandas)") from None
    return pandas.DataFrame(columns)


def _cell(value: Any) -> str:
    return html.escape(f"{value:.4f}" if isinstance(value, float) else str(value))


def html_table(heading: Sequence[str], rows: Sequence[Sequence[Any]], caption: str = "") -> str:
    """A table for notebooks."""
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heading)
    body = "".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(heading: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """The same for terminals."""
    cells = [list(heading)] + [[f"{v:.4f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    width = [max(len(row[n]) for row in cells) for n in range(len(heading))]
    lines = []
    for row in cells:
        words = [
            word.rjust(width[n]) if n and _is_number(word) else word.ljust(width[n]) for n, word in enumerate(row)
        ]
        lines.append("  ".join(words).rstrip())
    return "\n".join(lines)


def _is_number(word: str) -> bool:
    return bool(word) and word.replace(".", "").replace("-", "").replace(",", "").isdigit()


class Recommendations(Sequence[Entry]):
    """A list of items, best first: a sequence of (id, score).

    Attributes:
        coverage: share of the history that the model can use.
        unknown_items: items of the question that the model does not know; they are skipped.
        fallback: True if nothing of the history could be used and the list is by popularity.
        measure: for similar items and users what a score means, 'cosine' or 'weight'; else None.
    """

    def __init__(
        self,
        entries: List[Entry],
        coverage: float = 1.0,
        unknown_items: int = 0,
        fallback: bool = False,
        measure: Optional[str] = None,
        because: Optional[List["Explanation"]] = None,
        title: str = "",
    ) -> None:
        self._entries = entries
        self.coverage, self.unknown_items, self.fallback = coverage, unknown_items, fallback
        self.measure, self.because, self.title = measure, because, title

    @property
    def ids(self) -> List[str]:
        return [entry.id for entry in self._entries]

    @property
    def scores(self) -> np.ndarray:
        return np.array([entry.score for entry in self._entries])

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[place]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Recommendations) and self._entries == other._entries

    def _reasons(self, place: int) -> str:
        if not self.because:
            return ""
        return ", ".join(f"{part.id} {part.score:.4f}" for part in self.because[place].parts)

    def _rows(self) -> Tuple[List[str], List[List[Any]]]:
        heading = ["", "id", self.measure or "score"] + (["because of"] if self.because else [])
        rows: List[List[Any]] = []
        for place, entry in enumerate(self._entries):
            rows.append([place + 1, entry.id, entry.score] + ([self._reasons(place)] if self.because else []))
        return heading, rows

    def table(self) -> str:
        """The list as text."""
        return text_table(*self._rows())

    def to_frame(self) -> Any:
        """The list as a pandas DataFrame."""
        columns: Dict[str, Any] = {"id": self.ids, "score": self.scores}
        if self.because:
            columns["because"] = [self._reasons(place) for place in range(len(self))]
        return _frame(columns)

    def __repr__(self) -> str:
        return self.table() if self._entries else "<inmo.Recommendations: none>"

    def _repr_html_(self) -> str:
        return html_table(*self._rows(), caption=self.title)


class Explanation:
    """Why an item has its score: parts that sum to it, largest first."""

    def __init__(self, item: str, score: float, parts: List[Entry]) -> None:
        self.item, self.score, self.parts = item, score, parts

    def _rows(self) -> Tuple[List[str], List[List[Any]]]:
        rows: List[List[Any]] = [[part.id, part.score] for part in self.parts]
        return ["because of", "contribution"], rows + [["sum", sum(part.score for part in self.parts)]]

    def to_frame(self) -> Any:
        """The parts as a pandas DataFrame."""
        return _frame({"id": [part.id for part in self.parts], "contribution": [part.score for part in self.parts]})

    def __repr__(self) -> str:
        return f"{self.item} {self.score:.4f}\n{text_table(*self._rows())}"

    def _repr_html_(self) -> str:
        return html_table(*self._rows(), caption=f"{self.item}: {self.score:.4f}")


class Evaluation(Dict[str, float]):
    """Metrics of all users by name, ``evaluation["ndcg@20"]``, with those of groups of users beside them.

    Attributes:
        groups: metrics by group, the first of which is 'all'.
        users: number of users by group.
        user_ndcg: NDCG at the first k of each user of the data set; NaN where a user was not counted.
    """

    def __init__(
        self,
        groups: Dict[str, Dict[str, float]],
        users: Dict[str, int],
        user_ndcg: np.ndarray,
        seconds: float,
        inference_seconds: float,
    ) -> None:
        super().__init__(groups["all"])
        self.groups, self.users, self.user_ndcg = groups, users, user_ndcg
        self.seconds, self.inference_seconds = seconds, inference_seconds

    def _rows(self) -> Tuple[List[str], List[List[Any]]]:
        names = list(self)
        return ["group", "users"] + names, [
            [group, f"{self.users[group]:,}"] + [found[name] for name in names] for group, found in self.groups.items()
        ]

    def table(self) -> str:
        """The metrics of all groups as text."""
        return text_table(*self._rows())

    def to_frame(self) -> Any:
        """The metrics of all groups as a pandas DataFrame."""
        heading, rows = self._rows()
        return _frame({name: [row[n] for row in rows] for n, name in enumerate(heading)}).set_index("group")

    def _repr_html_(self) -> str:
        return html_table(*self._rows())


class Search:
    """What :func:`inmo.tune` has found.

    ``best`` are the options for :func:`inmo.train`, ``model`` is the model they give (None if no training is finished),
    ``trials`` are all, best first. With a directory, ``path`` is the file of that model and ``page`` one with charts.
    """

    def __init__(
        self,
        settings: List[str],
        trials: List[Dict[str, Any]],
        best: Dict[str, Any],
        planned: int,
        stopped: str,
        model: Any = None,
        path: Optional[str] = None,
        page: Optional[str] = None,
    ) -> None:
        self.settings, self.trials, self.best = settings, trials, best
        self.planned, self.stopped = planned, stopped
        self.model, self.path, self.page = model, path, page

    def _rows(self) -> Tuple[List[str], List[List[Any]]]:
        heading = ["trial", "score", "epochs"] + self.settings
        return heading, [[trial[name] for name in heading] for trial in self.trials]

    def to_frame(self) -> Any:
        """The trials as a pandas DataFrame."""
        return _frame({name: [trial[name] for trial in self.trials] for name in self._rows()[0]})

    def __repr__(self) -> str:
        return text_table(*self._rows())

    def _repr_html_(self) -> str:
        return html_table(*self._rows())
