"""How tables are shown: Markdown for people and models, JSON for programs."""

from wharf import Content, Invalid, json

MARKDOWN, JSON = "markdown", "json"
FORMATS = (MARKDOWN, JSON)
# A cell of Markdown has one line; what is longer is cut.
MAX_CELL = 500


def check(format):
    if format not in FORMATS:
        raise Invalid(f"format is {' or '.join(FORMATS)}, not {format[:40]}")
    return format


def rows(format, title, columns, numbered, notes):
    """Rows with their numbers."""
    if format == JSON:
        return json({"table": title, "rows": [{"row": at, **dict(zip(columns, row))} for at, row in numbered], "notes": notes})
    return _markdown(title, ["row", *columns], [[at, *row] for at, row in numbered], notes)


def records(format, title, found, notes):
    """One record a line, with the fields of all of them."""
    if format == JSON:
        return json({"table": title, "columns": found, "notes": notes})
    fields = list(dict.fromkeys(field for record in found for field in record))
    return _markdown(title, fields, [[_shown(record.get(field, "")) for field in fields] for record in found], notes)


def _shown(value):
    if isinstance(value, dict):
        return ", ".join(f"{name} ({count})" for name, count in value.items())
    return ", ".join(value) if isinstance(value, list) else value


def _markdown(title, columns, lines, notes):
    text = [f"# {_cell(title)}", ""]
    if len(columns) > 1 or lines:
        text += [_line(columns), "|---" * len(columns) + "|", *map(_line, lines), ""]
    text += [f"- {_cell(note)}" for note in notes]
    return Content("\n".join(text).rstrip() + "\n", "text/markdown")


def _line(cells):
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(value):
    text = str(value)
    if len(text) > MAX_CELL:
        text = text[: MAX_CELL - 1] + "…"
    if text.isalnum():
        return text
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
