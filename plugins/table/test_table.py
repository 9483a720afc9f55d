"""On your own Python, without the component: `python3 -m unittest`."""

import json
import os
import tempfile
import unittest

import app
import source
from wharf import NOT_MODIFIED, Denied, Invalid, NotFound, Request

SALES = """date,region,amount,note
2026-01-03,north,10.5,
2026-01-20,south,"1,200",a|b
2026-02-01,north,30,"two
lines"
2026-02-14,west,-4,last
"""


class Folder(unittest.TestCase):
    """A folder with one table, which `app` serves."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        app.folder, app.format = made.name, "json"
        self.write("sales.csv", SALES)

    def write(self, name, content):
        with open(os.path.join(app.folder, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def read(self, function, file="sales.csv", **variables):
        variables = {name.rstrip("_"): value for name, value in variables.items()}
        answered = function(Request("table://", {"file": file, **variables}))
        return json.loads(answered.contents[0].body)

    def rows(self, **variables):
        return [row["row"] for row in self.read(app.read_rows, **variables)["rows"]]


class Views(Folder):
    def test_a_table_shows_its_rows_and_what_is_in_them(self):
        shown = self.read(app.read_table)
        self.assertEqual(shown["rows"][2], {"row": 3, "date": "2026-02-01", "region": "north", "amount": "30", "note": "two\nlines"})
        self.assertEqual(shown["notes"], ["4 rows"])

    def test_markdown_keeps_each_row_on_its_line(self):
        answered = app.read_table(Request("table://", {"file": "sales.csv", "format": "markdown"}))
        self.assertEqual(answered.contents[0].mime_type, "text/markdown")
        lines = answered.contents[0].body.splitlines()
        self.assertEqual(lines[2:4], ["| row | date | region | amount | note |", "|---|---|---|---|---|"])
        self.assertIn("| 2 | 2026-01-20 | south | 1,200 | a\\|b |", lines)
        self.assertIn("| 3 | 2026-02-01 | north | 30 | two lines |", lines)

    def test_columns_have_a_kind(self):
        kinds = {column["column"]: column["kind"] for column in self.read(app.read_columns)["columns"]}
        self.assertEqual(kinds, {"date": "date", "region": "text", "amount": "number", "note": "text"})

    def test_a_summary_counts(self):
        date, region, amount, note = self.read(app.read_summary)["columns"]
        self.assertEqual((date["first"], date["last"]), ("2026-01-03", "2026-02-14"))
        self.assertEqual(region["frequent"], {"north": 2})
        self.assertEqual((amount["sum"], amount["min"], amount["median"], amount["max"]), (1236.5, -4, 20.25, 1200))
        self.assertEqual((note["filled"], note["empty"], note["different"]), (3, 1, 3))

    def test_what_the_host_still_holds_is_not_made_again(self):
        first = app.read_table(Request("table://", {"file": "sales.csv"}))
        again = Request("table://", {"file": "sales.csv"}, first.version)
        self.assertIs(app.read_table(again), NOT_MODIFIED)
        self.write("sales.csv", SALES + "2026-03-01,east,1,\n")
        self.assertEqual(len(json.loads(app.read_table(again).contents[0].body)["rows"]), 5)


class Rows(Folder):
    def test_from_and_to_are_row_numbers_without_a_column(self):
        self.assertEqual(self.rows(from_="2", to="3"), [2, 3])

    def test_from_and_to_are_values_of_a_column(self):
        self.assertEqual(self.rows(column="amount", from_="10", to="100"), [1, 3])
        self.assertEqual(self.rows(column="date", from_="2026-01-10", to="2026-02-01"), [2, 3])
        self.assertEqual(self.rows(column="date", to="2026-01"), [1, 2])

    def test_value_and_contains_filter(self):
        self.assertEqual(self.rows(column="region", value="north"), [1, 3])
        self.assertEqual(self.rows(column="amount", value="1200"), [2])
        self.assertEqual(self.rows(contains="TWO"), [3])
        self.assertEqual(self.rows(column="region", contains="t", from_="s"), [2, 4])

    def test_sorted_and_limited_and_cut_to_columns(self):
        shown = self.read(app.read_rows, sort="-amount", limit="2", columns="amount,region")
        self.assertEqual(shown["rows"], [{"row": 2, "amount": "1,200", "region": "south"}, {"row": 3, "amount": "30", "region": "north"}])
        self.assertIn("2 of 4 rows", shown["notes"][0])
        self.assertEqual(self.rows(sort="amount"), [4, 1, 3, 2])

    def test_what_cannot_be_right_is_invalid_and_says_what_can(self):
        for variables in ({"column": "city"}, {"sort": "city"}, {"columns": "date,city"}):
            with self.assertRaisesRegex(Invalid, "city.*date, region"):
                self.rows(**variables)
        for variables in ({"from_": "x"}, {"to": "0"}, {"limit": "9999"}, {"limit": "-1"}, {"value": "1"}, {"format": "xml"}):
            with self.assertRaises(Invalid):
                self.rows(**variables)


class Files(Folder):
    def test_no_table_outside_of_the_folder_and_none_that_is_no_file(self):
        os.mkdir(os.path.join(app.folder, "folder.csv"))
        for name in ("folder.csv", "none.csv", "../sales.csv", "a/b.csv", "sales.txt", ".hidden.csv", "a\0.csv"):
            with self.assertRaises(NotFound):
                self.read(app.read_table, file=name)

    def test_a_folder_that_is_not_granted_lists_nothing_and_says_which_line_would(self):
        app.folder = "/nowhere-at-all"
        self.assertEqual(app.listed(), [])
        with self.assertRaisesRegex(Denied, "provider.grants"):
            app.suggest_files("", {})

    def test_each_encoding_is_read(self):
        text = "name;price\nKäse;1,50\n"
        for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
            self.write("a.csv", text.encode(encoding))
            self.assertEqual(self.read(app.read_table, file="a.csv")["rows"], [{"row": 1, "name": "Käse", "price": "1,50"}], encoding)
            self.assertEqual(self.read(app.read_summary, file="a.csv")["columns"][1]["sum"], 1.5)

    def test_the_delimiter_is_found(self):
        for delimiter in ",;\t|":
            self.write("a.csv", "\n".join(delimiter.join(row) for row in (["a", "b"], ["1.5", "x"], ["2", "y"])))
            self.assertEqual([column["column"] for column in self.read(app.read_columns, file="a.csv")["columns"]], ["a", "b"])

    def test_headers_that_are_missing_or_double_get_names(self):
        self.write("a.csv", "1,2\n3,4\n")
        shown = self.read(app.read_table, file="a.csv")
        self.assertEqual(shown["rows"][0], {"row": 1, "column 1": "1", "column 2": "2"})
        self.write("a.csv", "a,a,\n1,2,3\n")
        self.assertEqual(self.read(app.read_table, file="a.csv")["rows"], [{"row": 1, "a": "1", "a (2)": "2", "column 3": "3"}])

    def test_ragged_rows_are_filled_up_or_cut_and_counted(self):
        self.write("a.csv", "a,b\n1\n1,2\n1,2,3\n\n")
        shown = self.read(app.read_table, file="a.csv")
        self.assertEqual([list(row.values()) for row in shown["rows"]], [[1, "1", ""], [2, "1", "2"], [3, "1", "2"]])
        self.assertTrue(any(note.startswith("2 rows with more or fewer") for note in shown["notes"]))

    def test_whatever_is_in_a_file_gives_rows(self):
        for content in (b"", b"\n\n", b"\0\0\0", b"a", b"\xff\xfe\xff", b"a,b\n\"never closed", bytes(range(256)) * 40, b"a\rb\rc", b'"'):
            self.write("a.csv", content)
            for function in (app.read_table, app.read_columns, app.read_summary, app.read_rows):
                self.assertTrue(self.read(function, file="a.csv")["notes"], content)


class Limits(Folder):
    def test_only_so_many_rows_are_read(self):
        self.write("a.csv", "a\n" + "x\n" * (source.MAX_ROWS + 5))
        shown = self.read(app.read_columns, file="a.csv")
        self.assertEqual(shown["notes"], [f"{source.MAX_ROWS:,} rows", f"only the first {source.MAX_ROWS:,} rows are read"])

    def test_who_looks_at_every_cell_reads_fewer_rows_of_a_wide_table(self):
        self.write("a.csv", ",".join(f"c{at}" for at in range(100)) + "\n" + ("1," * 100 + "\n") * (source.MAX_CELLS // 100 + 5))
        self.assertIn(f"only the first {source.MAX_CELLS // 100:,} rows are read", self.read(app.read_summary, file="a.csv")["notes"])
        self.assertEqual(len(self.read(app.read_rows, file="a.csv", from_="5003")["rows"]), 3)

    def test_only_so_many_characters_are_read(self):
        self.write("a.csv", "a,b\n" + ("x" * 500 + ",y\n") * (source.MAX_CHARACTERS // 500))
        notes = self.read(app.read_table, file="a.csv")["notes"]
        self.assertIn(f"only the first {source.MAX_CHARACTERS >> 20} Mi characters are read", notes)

    def test_a_table_is_broken_off_where_a_line_or_a_cell_is_too_long(self):
        for bad in ("x" * (source.MAX_CELL + 5), '1,"never closed\n' + "x,y\n" * source.MAX_CELL):
            self.write("a.csv", "a,b\n1,2\n" + bad)
            shown = self.read(app.read_table, file="a.csv")
            self.assertEqual(shown["rows"], [{"row": 1, "a": "1", "b": "2"}])
            self.assertRegex(shown["notes"][1], "broken off at line .* A quote that is not closed")

    def test_only_so_many_columns_are_read(self):
        self.write("a.csv", ",".join(f"c{at}" for at in range(source.MAX_COLUMNS + 1)) + "\n1\n")
        shown = self.read(app.read_columns, file="a.csv")
        self.assertEqual(len(shown["columns"]), source.MAX_COLUMNS)


class Suggestions(Folder):
    def test_files_columns_and_values_are_suggested(self):
        self.write("stock.tsv", "a\tb\n")
        self.write("notes.txt", "no table")
        os.mkdir(os.path.join(app.folder, "s.csv"))
        self.assertEqual(app.suggest_files("s", {}), ["sales.csv", "stock.tsv"])
        known = {"file": "sales.csv", "column": "region"}
        self.assertEqual(app.suggest_columns("", known), ["date", "region", "amount", "note"])
        self.assertEqual(app.suggest_columns("date,re", known), ["date,region"])
        self.assertEqual(app.suggest_values("", known), ["north", "south", "west"])
        self.assertEqual(app.suggest_values("", {"file": "sales.csv"}), [])


if __name__ == "__main__":
    unittest.main()
