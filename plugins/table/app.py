"""`table`: the CSV tables of a granted folder, their columns, what can be said of them, and rows by filters. README.md says what it does
for its users.

Invariants: nothing is kept of a table from one read to the next; whoever is subscribed to a view of a table is told when the file changes.
"""

import os

import columns
import rows
import source
import view
from wharf import NOT_MODIFIED, UNTIL_ANNOUNCED, Item, Provider, ProviderError, Reading

# Rows of `table://{file}`: enough to see what it is about.
FIRST_ROWS = 50
# Suggestions of a column's values are looked for in no larger file: someone is typing.
MAX_SUGGEST_BYTES = 1 << 20

provider = Provider(list_reuse=UNTIL_ANNOUNCED)
folder, format = "/tables", view.MARKDOWN
# How often each file has changed since the start: a part of the version, for one that changes within the clock's tick.
changes = {}

table = provider.template(
    "table://{file}{?format}",
    title="A table",
    description=f"The first {FIRST_ROWS} rows of a CSV file. format: markdown or json.",
)
head = provider.template(
    "table://{file}/columns{?format}",
    title="The columns of a table",
    description="Of each column: number, date or text, how many cells are filled, examples.",
)
summary = provider.template(
    "table://{file}/summary{?format}",
    title="A table in numbers",
    description="Of each column: sum, smallest, largest, mean, median, quartiles, deviation; first and last date; frequent values.",
)
chosen = provider.template(
    "table://{file}/rows{?from,to,column,value,contains,sort,columns,limit,format}",
    title="Rows of a table",
    description=(
        "from, to: row numbers, or with column the least and greatest value of that column. value: what the column is. contains: "
        "text in the column, or anywhere. sort: a column, or -column for the greatest first. columns: those to show, with commas. "
        f"limit: {rows.LIMIT} if not said, at most {rows.MAX_LIMIT}."
    ),
)
VIEWS = (table, head, summary, chosen)


@provider.start
def start():
    global folder, format
    folder = provider.setting("folder", folder).rstrip("/")
    format = view.check(provider.setting("format", format))
    try:
        provider.watch("folder", folder, changed)
    except ProviderError as error:
        # It says which line of wharf.toml is missing. What is listed then is nothing.
        print(f"no tables: {error}")


@table.list
def listed():
    try:
        found = source.names(folder)
    except ProviderError:
        return []
    about = {"description": "CSV table; also /columns, /summary and /rows{?…}", "mime_type": mime_type(format)}
    return [Item({"file": name}, **about) for name in found]


@table.read
def read_table(request):
    def shown(opened, format):
        asked = rows.Asked(limit=FIRST_ROWS)
        kept, found = rows.select(opened, asked)
        return view.rows(format, request.variables["file"], opened.columns, kept, [_of(kept, found), *opened.notes])

    return reading(request, shown)


@head.read
def read_columns(request):
    def shown(opened, format):
        found = [column.brief() for column in columns.look_at(opened)]
        return view.records(format, request.variables["file"], found, [source.count(opened.rows_read), *opened.notes])

    return reading(request, shown)


@summary.read
def read_summary(request):
    def shown(opened, format):
        found = [column.summary() for column in columns.look_at(opened)]
        return view.records(format, request.variables["file"], found, [source.count(opened.rows_read), *opened.notes])

    return reading(request, shown)


@chosen.read
def read_rows(request):
    def shown(opened, format):
        asked = rows.Asked.of(request.variables, opened.columns)
        kept, found = rows.select(opened, asked)
        names = [opened.columns[at] for at in asked.shown]
        cut = [(at, [row[column] for column in asked.shown]) for at, row in kept]
        return view.rows(format, request.variables["file"], names, cut, [_of(kept, found), *opened.notes])

    return reading(request, shown)


def reading(request, shown):
    """Opens the table, unless it still is what the host holds."""
    name = request.variables["file"]
    path = source.path_of(folder, name)
    version = f"{source.version(path)}-{changes.get(name, 0)}"
    wanted = view.check(request.variables.get("format", format))
    if version == request.if_none_match:
        return NOT_MODIFIED
    with source.Table(path) as opened:
        return Reading(shown(opened, wanted), version=version, reuse=UNTIL_ANNOUNCED)


def _of(kept, found):
    if len(kept) == found:
        return source.count(found)
    return f"{len(kept):,} of {source.count(found)}; /rows?from=…&to=… and filters give others"


def mime_type(format):
    return "application/json" if format == view.JSON else "text/markdown"


def subscribe(request):
    """The folder is watched anyway."""
    source.path_of(folder, request.variables["file"])


def changed(found):
    """Tells who is subscribed to a table of this name, and of files that came and went."""
    names = {os.path.basename(change.path) for change in found}
    everything = any(change.change == "rescan" for change in found)
    names |= {request.variables["file"] for request in provider.subscribed.values()} if everything else set()
    for name in filter(source.is_table, names):
        changes[name] = changes.get(name, 0) + 1
    provider.updated(*(uri for uri, request in provider.subscribed.items() if request.variables["file"] in names))
    if everything or any(change.change != "modified" and source.is_table(os.path.basename(change.path)) for change in found):
        provider.list_changed()


def suggest_files(value, known):
    return [name for name in source.names(folder) if name.startswith(value)]


for one in VIEWS:
    one.on_subscribe(subscribe)
    one.complete("file")(suggest_files)
    one.complete("format", view.FORMATS)


@chosen.complete("column")
@chosen.complete("sort")
@chosen.complete("columns")
def suggest_columns(value, known):
    if "file" not in known:
        return []
    with source.Table(source.path_of(folder, known["file"])) as opened:
        # Of `columns=a,b` the last one is being typed.
        before, comma, typed = value.rpartition(",")
        return [before + comma + name for name in opened.columns if name.startswith(typed)]


@chosen.complete("value")
def suggest_values(value, known):
    if "file" not in known or "column" not in known:
        return []
    path = source.path_of(folder, known["file"])
    if os.stat(path).st_size > MAX_SUGGEST_BYTES:
        return []
    with source.Table(path) as opened:
        found = [column for column in columns.look_at(opened) if column.name == known["column"]]
    return [one for column in found for one in column.values() if one.startswith(value)]


provider.export(globals())
