"""What can be said of a table's columns in one pass."""

import math
import re
from array import array
from collections import Counter

from source import number

# Different values that are counted in a column; a column with more is one of names or numbers, and no list of them helps anybody.
MAX_DISTINCT = 5_000
FREQUENT = 5
SHOWN = 80

DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")


class Column:
    """What has been seen of one column."""

    def __init__(self, name, decimal_comma):
        self.name = name
        self.filled = self.empty = 0
        self._decimal_comma = decimal_comma
        self._numbers = array("d")
        self._numeric = self._dated = True
        self._first = self._last = None
        self._counted = Counter()
        self._more = False

    def see(self, cell):
        cell = cell.strip()
        if not cell:
            self.empty += 1
            return
        self.filled += 1
        if self._numeric:
            value = number(cell, self._decimal_comma)
            if value is None:
                self._numeric, self._numbers = False, array("d")
            else:
                self._numbers.append(value)
        if self._dated:
            if DATE.fullmatch(cell) is None:
                self._dated = False
            else:
                self._first = cell if self._first is None else min(self._first, cell)
                self._last = cell if self._last is None else max(self._last, cell)
        if cell in self._counted or len(self._counted) < MAX_DISTINCT:
            self._counted[cell] += 1
        else:
            self._more = True

    @property
    def kind(self):
        if not self.filled:
            return "empty"
        return "number" if self._numeric else "date" if self._dated else "text"

    def brief(self):
        """For `/columns`."""
        examples = [_short(value) for value, _ in self._counted.most_common(3)]
        return {"column": self.name, "kind": self.kind, "filled": self.filled, "empty": self.empty, "examples": examples}

    def summary(self):
        """For `/summary`."""
        said = {"column": self.name, "kind": self.kind, "filled": self.filled, "empty": self.empty}
        if self.kind == "number":
            said |= _statistics(self._numbers)
        elif self.kind == "date":
            said |= {"first": self._first, "last": self._last}
        if self.kind != "empty":
            distinct = len(self._counted)
            said["different"] = f"more than {distinct}" if self._more else distinct
        frequent = [(value, count) for value, count in self._counted.most_common(FREQUENT) if count > 1]
        if frequent and self.kind != "number":
            said["frequent"] = {_short(value): count for value, count in frequent}
        return said

    def values(self):
        """Those that were counted, the most frequent first."""
        return [value for value, _ in self._counted.most_common()]


def look_at(table):
    """All columns of a table."""
    columns = [Column(name, table.decimal_comma) for name in table.columns]
    seers = [column.see for column in columns]
    for _, row in table.rows(every_cell=True):
        for see, cell in zip(seers, row):
            see(cell)
    return columns


def _statistics(values):
    ordered = sorted(values)
    count = len(ordered)
    mean = math.fsum(ordered) / count
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in ordered) / (count - 1)) if count > 1 else 0.0
    said = {
        "sum": math.fsum(ordered),
        "min": ordered[0],
        "quarter": _quantile(ordered, 0.25),
        "median": _quantile(ordered, 0.5),
        "three-quarters": _quantile(ordered, 0.75),
        "max": ordered[-1],
        "mean": mean,
        "deviation": spread,
    }
    return {name: plain(value) for name, value in said.items()}


def _quantile(ordered, part):
    """Between the two that are nearest, as spreadsheets have it."""
    at = part * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def plain(value):
    """A number as one would write it."""
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    return float(f"{value:.6g}") if abs(value) < 1e6 else round(value, 2)


def _short(value):
    return value if len(value) <= SHOWN else value[: SHOWN - 1] + "…"
