"""A table in a file: its encoding, its delimiter, its header, its rows.

Invariants: a file is read from its beginning, row by row, and never held as a whole; what is too much is not read, and `Table.notes` says
so; whatever is in a file, reading it gives rows or a `ProviderError`.
"""

import codecs
import csv
import encodings.cp1252  # noqa: F401  nothing can be imported once the component runs, and an encoding is a module
import encodings.utf_16  # noqa: F401
import encodings.utf_8_sig  # noqa: F401
import os
import re
import stat
from collections import Counter

from wharf import Denied, Failed, NotFound

EXTENSIONS = (".csv", ".tsv", ".tab")
DELIMITERS = ",;\t|"

# A call has 5 seconds unless wharf.toml says otherwise; so much takes two.
MAX_CHARACTERS = 8 << 20
MAX_ROWS = 100_000
MAX_CELLS = 500_000
# More in one line or cell is no table, or a quote that is never closed.
MAX_CELL = 1 << 18
MAX_COLUMNS = 500
# Greater ones are identifiers or mistakes, and their squares would overflow.
MAX_NUMBER = 1e100
# What the delimiter is judged by.
SAMPLE = 1 << 16
SAMPLE_ROWS = 20

csv.field_size_limit(MAX_CELL)


def _as_windows(error):
    """What is no UTF-8 is taken for Windows-1252, which is what spreadsheets write."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows", _as_windows)


def names(folder):
    """The tables of the folder, sorted."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if is_table(entry.name) and entry.is_file())
    except FileNotFoundError:
        raise Denied(
            f"{folder} is not there: [provider.grants] folders = [{{ host = \"DIR\", guest = \"{folder}\" }}] in wharf.toml grants it"
        ) from None
    except OSError as error:
        raise Failed(f"{folder}: {error.strerror}") from None


def is_table(name):
    return name.lower().endswith(EXTENSIONS) and not name.startswith(".")


def path_of(folder, name):
    """Where a table is: never outside of the folder."""
    if not is_table(name) or "/" in name or "\0" in name:
        raise NotFound
    return f"{folder}/{name}"


def version(path):
    """Differs whenever the file was written anew."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        raise NotFound from None
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(found.st_mode):
        raise NotFound
    return f"{found.st_mtime_ns}-{found.st_size}"


class Table:
    """An open table: `columns`, `delimiter`, and the rows, to be gone through once. Use it in a `with`."""

    def __init__(self, path):
        try:
            self._file = _open(path)
        except FileNotFoundError:
            raise NotFound from None
        except OSError as error:
            raise Failed(f"{path}: {error.strerror}") from None
        self.notes = []
        self.rows_read = 0
        self._name = os.path.basename(path)
        self._characters = self._ragged = 0
        try:
            self.delimiter = self._find_delimiter()
            self._reader = csv.reader(self._limited(), delimiter=self.delimiter)
            self.columns, self._first = self._header()
        except BaseException:
            self._file.close()
            raise
        # In a table with semicolons the comma is the decimal one.
        self.decimal_comma = self.delimiter == ";"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def rows(self, *, every_cell=False):
        """Each row with its number, from 1, as long as the columns: what is missing is empty. After the last one `notes` is complete.
        Who looks at every cell gets fewer."""
        wide = len(self.columns)
        most = min(MAX_ROWS, MAX_CELLS // (wide or 1)) if every_cell else MAX_ROWS
        for row in self._all():
            if self.rows_read == most:
                self.notes.append(f"only the first {most:,} rows are read")
                break
            self.rows_read += 1
            if len(row) != wide:
                self._ragged += 1
                row = (row + [""] * wide)[:wide]
            yield self.rows_read, row
        if self._characters >= MAX_CHARACTERS:
            self.notes.append(f"only the first {MAX_CHARACTERS >> 20} Mi characters are read")
        if self._ragged:
            self.notes.append(f"{count(self._ragged)} with more or fewer cells than there are columns: filled up or cut")

    def _all(self):
        if self._first is not None:
            yield self._first
        while (row := self._next()) is not None:
            yield row

    def _next(self):
        """The next row that is not blank."""
        try:
            return next((row for row in self._reader if any(row)), None)
        except csv.Error as error:
            self.notes.append(f"broken off at line {self._reader.line_num}: {error}. A quote that is not closed, or no table?")
            return None
        except (OSError, UnicodeError) as error:
            raise Failed(f"{self._name}: {error}") from None

    def _limited(self):
        while self._characters < MAX_CHARACTERS:
            line = self._file.readline(MAX_CELL)
            if not line:
                return
            self._characters += len(line)
            if len(line) == MAX_CELL:
                raise csv.Error(f"it is longer than {MAX_CELL >> 10} Ki characters")
            yield line

    def _find_delimiter(self):
        """The one that cuts the first rows into the same number of cells, and into most."""
        try:
            sample = self._file.read(SAMPLE)
            self._file.seek(0)
        except (OSError, UnicodeError) as error:
            raise Failed(f"{self._name}: {error}") from None
        lines = sample.splitlines(keepends=True)
        whole = lines[:-1] if len(sample) == SAMPLE and len(lines) > 1 else lines

        def score(delimiter):
            wide = Counter()
            try:
                for row in csv.reader(whole[: SAMPLE_ROWS * 2], delimiter=delimiter):
                    if any(row):
                        wide[len(row)] += 1
            except csv.Error:
                return 0, 0
            cells, rows = max(wide.items(), key=lambda found: (found[0] > 1) * found[1], default=(1, 0))
            return (0, 0) if cells == 1 else (rows / wide.total(), cells)

        best = max(DELIMITERS, key=score)
        if score(best) == (0, 0) and self._name.lower().endswith((".tsv", ".tab")):
            return "\t"
        return best

    def _header(self):
        """The columns' names, all different, and the first row where it is no header: one of numbers is none."""
        first = self._next()
        if first is None:
            if not self.notes:
                self.notes.append("the file is empty")
            return [], None
        if len(first) > MAX_COLUMNS:
            self.notes.append(f"only the first {MAX_COLUMNS} of {len(first)} columns are read")
            first = first[:MAX_COLUMNS]
        cells = [cell.strip() for cell in first]
        if all(re.fullmatch(r"[-+]?[0-9.,]+", cell) for cell in cells if cell):
            self.notes.append("there is no header: the columns are numbered")
            return [f"column {number}" for number, _ in enumerate(cells, 1)], first
        known = Counter()
        columns = []
        for number, name in enumerate(cells, 1):
            name = name or f"column {number}"
            known[name] += 1
            columns.append(name if known[name] == 1 else f"{name} ({known[name]})")
        return columns, None


def _open(path):
    with open(path, "rb") as file:
        begin = file.read(2)
    encoding = "utf-16" if begin in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"
    return open(path, encoding=encoding, errors="replace" if encoding == "utf-16" else "windows", newline="")


def count(rows):
    return f"{rows:,} row" if rows == 1 else f"{rows:,} rows"


def number(cell, decimal_comma):
    """The number in a cell, or nothing: `1234.5`, `1,234.5`, and with a decimal comma `1234,5`, `1.234,5`."""
    cell = cell.strip()
    if not cell or cell[0] not in "+-.,0123456789" or cell[-1] not in ".,0123456789" or "_" in cell:
        return None
    if decimal_comma:
        if "," in cell:
            cell = cell.replace(".", "").replace(",", ".", 1)
    elif "," in cell:
        if not re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", cell):
            return None
        cell = cell.replace(",", "")
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if abs(value) < MAX_NUMBER else None
