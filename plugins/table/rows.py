"""The rows that a request asks for."""

import heapq
from dataclasses import dataclass, field

from source import number
from wharf import Invalid

LIMIT = 100
MAX_LIMIT = 1_000


@dataclass
class Asked:
    """The variables of `table://{file}/rows{?…}`, checked. Cells are compared as numbers where both are, else as text."""

    limit: int = LIMIT
    column: int = None
    numbers: tuple = (1, None)
    low: str = None
    high: str = None
    value: str = None
    contains: str = None
    sort: int = None
    descending: bool = False
    shown: list = field(default_factory=list)

    @classmethod
    def of(cls, variables, columns):
        """Of the variables and the table's columns."""
        variables = {name: value if isinstance(value, str) else value[-1] for name, value in variables.items() if value}
        asked = cls()
        asked.limit = _count(variables, "limit", LIMIT)
        if asked.limit > MAX_LIMIT:
            raise Invalid(f"limit is {MAX_LIMIT} at the most: ask for the rows from the next number on")
        asked.value, asked.contains = variables.get("value"), variables.get("contains")
        if "column" in variables:
            asked.column = _column(variables["column"], columns)
            asked.low, asked.high = variables.get("from"), variables.get("to")
        else:
            if asked.value is not None:
                raise Invalid("value needs a column to look in: ?column=NAME&value=…")
            asked.numbers = (_count(variables, "from", 1), _count(variables, "to", None))
        if "sort" in variables:
            asked.descending = variables["sort"].startswith("-") and variables["sort"] not in columns
            asked.sort = _column(variables["sort"].removeprefix("-") if asked.descending else variables["sort"], columns)
        shown = variables.get("columns")
        asked.shown = [_column(name, columns) for name in shown.split(",")] if shown else list(range(len(columns)))
        return asked

    def suits(self, row, decimal_comma):
        """Whether a row is among those asked for, its number left aside."""
        if self.contains is not None:
            wanted = self.contains.casefold()
            cells = row if self.column is None else [row[self.column]]
            if not any(wanted in cell.casefold() for cell in cells):
                return False
        if self.column is None:
            return True
        cell = row[self.column].strip()
        if self.value is not None and _key(cell, decimal_comma) != _key(self.value, decimal_comma):
            return False
        if self.low is None and self.high is None:
            return True
        return bool(cell) and _between(cell, self.low, self.high, decimal_comma)


def select(table, asked):
    """The rows asked for, each with its number, and how many there are in all; also those past the limit are counted."""
    first, last = asked.numbers
    found = 0

    def suiting():
        nonlocal found
        for at, row in table.rows():
            if at >= first and (last is None or at <= last) and asked.suits(row, table.decimal_comma):
                found += 1
                yield at, row

    if asked.sort is None:
        kept = []
        for one in suiting():
            if len(kept) < asked.limit:
                kept.append(one)
    else:
        take = heapq.nlargest if asked.descending else heapq.nsmallest
        kept = take(asked.limit, suiting(), key=lambda one: _key(one[1][asked.sort].strip(), table.decimal_comma))
    return kept, found


def _key(cell, decimal_comma):
    """Numbers go before text."""
    value = number(cell, decimal_comma)
    return (0, value, "") if value is not None else (1, 0.0, cell)


def _between(cell, low, high, decimal_comma):
    """Both ends belong to it. An end that is a number leaves out what is none."""
    key = _key(cell, decimal_comma)
    for end, out in ((low, lambda a, b: a < b), (high, lambda a, b: a > b)):
        if end is None:
            continue
        bound = _key(end, decimal_comma)
        if bound[0] != key[0]:
            return False
        # `to=2026-01` takes all of that month.
        compared = (*key[:2], key[2][: len(end)]) if end is high else key
        if out(compared, bound):
            return False
    return True


def _count(variables, name, default):
    given = variables.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:10]) and len(given) <= 10):
        raise Invalid(f"{name} is a number from 1 on, if no column is named: not {given[:40]}")
    return int(given)


def _column(name, columns):
    if name not in columns:
        raise Invalid(f"there is no column {name[:80]!r}; there are {', '.join(columns[:50])}")
    return columns.index(name)
