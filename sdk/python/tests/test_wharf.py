"""In `sdk/python`: `python3 -m unittest discover tests`."""

import contextlib
import io
import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]

from stand_in import Err, Ok, called, completions, fetch, fetches, file_handler, request, types, webhooks
from wharf import (
    NOT_MODIFIED,
    UNTIL_ANNOUNCED,
    Annotations,
    Content,
    Denied,
    Icon,
    Invalid,
    Item,
    NotFound,
    Provider,
    Reading,
    Request,
    Unavailable,
    WebhookAnswer,
    bindings,
    json,
    uris,
)


class Case(unittest.TestCase):
    def setUp(self):
        called.clear()
        self.provider = Provider()
        self.exports = {}
        self.log = io.StringIO()
        redirected = contextlib.redirect_stderr(self.log)
        redirected.__enter__()
        self.addCleanup(redirected.__exit__, None, None, None)

    def export(self, name):
        if not self.exports:
            self.provider.export(self.exports)
        return self.exports[name]()

    def read(self, *arguments, **variables):
        return self.export("Resources").read(request(*arguments, **variables))

    def fails(self, case, function, *arguments):
        with self.assertRaises(Err) as caught:
            function(*arguments)
        self.assertEqual(type(caught.exception.value).__name__, f"Error_{case}")
        return getattr(caught.exception.value, "value", None)


class Uris(unittest.TestCase):
    def test_a_template_expands_as_the_rfc_says(self):
        # RFC 6570, section 3.2
        values = {"var": "value", "hello": "Hello World!", "path": "/foo/bar", "list": ["red", "green"], "empty": "", "x": "1", "y": "2"}
        for template, uri in {
            "{hello}": "Hello%20World%21",
            "{+path}/here": "/foo/bar/here",
            "{path}": "%2Ffoo%2Fbar",
            "{#hello}": "#Hello%20World!",
            "X{.var}": "X.value",
            "{/var,x}/here": "/value/1/here",
            "{/list*}": "/red/green",
            "{/list}": "/red,green",
            "{;x,empty}": ";x=1;empty",
            "{?x,y,none}": "?x=1&y=2",
            "{?list*}": "?list=red&list=green",
            "?a=b{&empty}": "?a=b&empty=",
            "{none}{?none}": "",
        }.items():
            known = {name: value for name, value in values.items() if name in uris.variables(template)}
            self.assertEqual(uris.expand(template, known), uri, template)

    def test_an_unknown_variable_is_refused(self):
        with self.assertRaisesRegex(ValueError, "nmae"):
            uris.expand("x://{name}", {"nmae": "Ada"})

    def test_a_variable_that_is_repeated_or_exploded_is_a_list(self):
        pairs = [("a", "1"), ("b", "2"), ("a", "3"), ("seg", "x")]
        self.assertEqual(uris.collect(pairs, "x:/{/seg*}{?a,b,tag*}"), {"a": ["1", "3"], "b": "2", "seg": ["x"], "tag": []})


class Lists(Case):
    def test_every_field_arrives(self):
        self.provider.resource(
            "x://a/full",
            title="T",
            description="D",
            mime_type="text/plain",
            size=5,
            icons=[Icon("data:,", "image/png", ["any"], "dark")],
            annotations=Annotations(["user"], 0.5, 1700000000000),
            meta={"k": "ü"},
        ).read(str)
        page = self.export("Resources").list(None)
        icons = [types.Icon("data:,", "image/png", ["any"], types.IconTheme.DARK)]
        annotations = types.Annotations([types.Role.USER], 0.5, 1700000000000.0)
        info = types.ResourceInfo("x://a/full", "full", "T", "D", "text/plain", 5.0, icons, annotations, '{"k": "ü"}')
        self.assertEqual(page.resources, [info])
        self.assertEqual((page.next_cursor, page.reuse), (None, types.Reuse_UntilAnnounced()))

    def test_a_name_is_the_last_segment(self):
        for uri, name in {
            "x://a/b": "b",
            "x://a/b%20c": "b c",
            "x://{file}": "x",
            "x://{file}/rows{?from,to}": "rows",
            "x:/p/{+path}": "p",
            "x:one": "one",
        }.items():
            template = "{" in uri
            builder = (self.provider.template if template else self.provider.resource)(uri)
            self.assertEqual(builder._name, name)

    def test_a_long_list_comes_in_pages_of_one_moment(self):
        self.provider = Provider(page_size=2)
        family = self.provider.template("x://{n}", mime_type="text/plain")
        family.read(str)
        there = ["0", "1", "2", "3", "4"]
        family.list(lambda: [Item({"n": n}) for n in there])
        resources = self.export("Resources")
        first = resources.list(None)
        self.assertEqual(first.reuse, None)
        there.pop(0)
        seen, cursor = first.resources, first.next_cursor
        while cursor is not None:
            page = resources.list(cursor)
            seen, cursor = seen + page.resources, page.next_cursor
        self.assertEqual([info.uri for info in seen], ["x://0", "x://1", "x://2", "x://3", "x://4"])
        self.assertEqual(seen[0].mime_type, "text/plain")
        for cursor in ("0", "1", "9", "-2", "x", "", "2" * 50):
            self.fails("Invalid", resources.list, cursor)

    def test_text_that_is_none_is_replaced(self):
        self.provider.resource("x://a", title="a\udcff").read(lambda request: "b\udcff")
        self.assertEqual(self.export("Resources").list(None).resources[0].title, "a?")
        self.assertEqual(self.read("x://a").contents[0].body, types.Body_Text("b?"))


class Reads(Case):
    def answering(self, answer, **fields):
        self.provider = Provider()
        self.exports = {}
        self.provider.resource("x://a", **fields).read(lambda request: answer)
        return self.read("x://a")

    def test_text_bytes_and_json_are_answers(self):
        plain = types.Contents(None, "text/plain", types.Body_Text("t"), None)
        self.assertEqual(self.answering("t", mime_type="text/plain").contents, [plain])
        self.assertEqual(self.answering(b"\0").contents[0].body, types.Body_Blob(b"\0"))
        self.assertEqual(self.answering(Content(b"t", utf8=True)).contents[0].body, types.Body_Utf8(b"t"))
        value = self.answering(json({"a": ["ü"]})).contents[0]
        self.assertEqual((value.mime_type, value.body), ("application/json", types.Body_Text('{"a":["ü"]}')))
        self.assertEqual(self.answering(json(1), mime_type="application/geo+json").contents[0].mime_type, "application/geo+json")

    def test_a_reading_has_several_contents(self):
        reading = self.answering(Reading("a", Content("b", uri="x://a/b", meta={"n": 1}), version="1", reuse=1000))
        self.assertEqual([content.uri for content in reading.contents], [None, "x://a/b"])
        self.assertEqual((reading.version, reading.reuse), ("1", types.Reuse_ForMs(1000)))
        self.assertEqual(self.answering(Reading("a", reuse=UNTIL_ANNOUNCED)).reuse, types.Reuse_UntilAnnounced())

    def test_what_the_host_holds_is_not_sent_again(self):
        self.provider.resource("x://a").read(lambda request: Reading("a", version="1"))
        self.provider.resource("x://b").read(lambda request: NOT_MODIFIED)
        self.assertIsNone(self.read("x://a", None, "1"))
        self.assertIsNotNone(self.read("x://a", None, "0"))
        self.assertIsNone(self.read("x://b", None, "1"))

    def test_a_template_s_handler_is_given_its_variables(self):
        asked = []
        self.provider.template("x://{name}{?from}").read(lambda request: asked.append(request) or "")
        self.read("x://a%20b?from=1", "x://{name}{?from}", None, name="a b", **{"from": "1"})
        self.assertEqual(asked, [Request("x://a%20b?from=1", {"name": "a b", "from": "1"}, None)])

    def test_a_listed_one_of_a_family_is_read_by_its_variables_and_without_a_match(self):
        family = self.provider.template("x://{name}")
        family.read(lambda request: request.variables["name"])
        there = ["a b"]
        family.list(lambda: [Item({"name": name}) for name in there])
        # Not even the list has been asked for: an instance may be a fresh one.
        self.assertEqual(self.read("x://a%20b").contents[0].body.value, "a b")
        there.append("c")
        self.assertEqual(self.read("x://c").contents[0].body.value, "c")
        self.fails("NotFound", self.read, "x://d")

    def test_what_goes_wrong_becomes_the_answer(self):
        def handler(error):
            def read(request):
                raise error

            return read

        raised = {"a": NotFound("x"), "b": Invalid("why"), "c": Unavailable("later"), "d": KeyError("k"), "e": ImportError()}
        for name, error in raised.items():
            self.provider.resource(f"x://{name}").read(handler(error))
        self.fails("NotFound", self.read, "x://a")
        self.assertEqual(self.fails("Invalid", self.read, "x://b"), "why")
        self.assertEqual(self.fails("Unavailable", self.read, "x://c"), "later")
        self.assertEqual(self.log.getvalue(), "")
        self.assertEqual(self.fails("Failed", self.read, "x://d"), "KeyError: 'k'")
        self.assertIn("Traceback", self.log.getvalue())
        self.assertEqual(self.fails("Failed", self.read, "x://e"), "ImportError")
        self.fails("NotFound", self.read, "x://nowhere")
        self.fails("NotFound", self.read, "x://nowhere", "x://{other}", None)

    def test_an_answer_of_a_wrong_type_says_which_are_right(self):
        self.provider.resource("x://a").read(lambda request: {"a": 1})
        self.assertIn("json(value)", self.fails("Failed", self.read, "x://a"))

    def test_a_raised_error_of_the_bindings_is_passed_on(self):
        def read(request):
            raise Err(types.Error_Denied("no"))

        self.provider.resource("x://a").read(read)
        self.assertEqual(self.fails("Denied", self.read, "x://a"), "no")

    def test_what_is_to_be_done_at_the_start_is_done_once_and_tried_again_if_it_fails(self):
        tries = []

        @self.provider.start
        def start():
            tries.append(self.provider.setting("greeting"))
            if len(tries) == 1:
                raise Invalid("not yet")

        self.provider.resource("x://a").read(lambda request: "a")
        self.assertEqual(self.fails("Invalid", self.read, "x://a"), "not yet")
        self.read("x://a")
        self.read("x://a")
        self.assertEqual(tries, ["moin", "moin"])


class Lives(Case):
    def test_only_what_is_subscribable_is_subscribed(self):
        heard = []
        live = self.provider.resource("x://live")
        live.read(str)
        live.on_subscribe(lambda request: heard.append(("on", request.uri, request.uri in self.provider.subscribed)))
        live.on_unsubscribe(lambda request: heard.append(("off", request.uri)))
        self.provider.resource("x://still").read(str)
        self.provider.resource("x://quiet").subscribable().read(str)
        exported = self.export("Subscriptions")
        exported.subscribe("x://live", None)
        exported.subscribe("x://quiet", None)
        self.assertIn("does not tell", self.fails("Failed", exported.subscribe, "x://still", None))
        self.fails("NotFound", exported.subscribe, "x://none", None)
        self.assertEqual(list(self.provider.subscribed), ["x://live", "x://quiet"])
        exported.unsubscribe("x://live")
        exported.unsubscribe("x://live")
        self.assertEqual(heard, [("on", "x://live", True), ("off", "x://live")])
        self.assertEqual(list(self.provider.subscribed), ["x://quiet"])

    def test_a_subscribe_that_fails_leaves_nothing(self):
        def refuse(request):
            raise Unavailable("later")

        live = self.provider.resource("x://live")
        live.read(str)
        live.on_subscribe(refuse)
        self.fails("Unavailable", self.export("Subscriptions").subscribe, "x://live", None)
        self.assertEqual(list(self.provider.subscribed), [])

    def test_timers_fire_by_name_and_one_that_fails_keeps_no_other_back(self):
        fired = []
        self.provider.every("a", 100, lambda: fired.append("a") or self.provider.cancel("c"))
        self.provider.after("b", 50, lambda: 1 / 0)
        self.provider.after("c", 50, lambda: fired.append("c"))
        self.provider.after("d", 50, lambda: fired.append("d"))
        self.assertEqual(called, [("start", "a", 100, 100), ("start", "b", 50, None), ("start", "c", 50, None), ("start", "d", 50, None)])
        handler = self.export("TimerHandler")
        handler.fired(["a", "b", "c", "d"])
        handler.fired(["a", "b", "d"])
        self.assertEqual(fired, ["a", "d", "a"])
        self.assertIn("ZeroDivisionError", self.log.getvalue())

    def test_changes_are_announced(self):
        live = self.provider.resource("x://live")
        family = self.provider.template("x://{name}/rows{?from}")
        self.provider.updated(live.uri, family.uri({"from": "1"}, name="a b"))
        self.provider.list_changed()
        self.assertEqual(called, [("updated", ["x://live", "x://a%20b/rows?from=1"]), ("list_changed",)])

    def test_file_changes_come_in_batches_by_their_watch(self):
        seen = []
        self.provider.watch("w", "/data", seen.append, recursive=True)
        change = file_handler.FileChange
        changes = [change("w", "/data/a", file_handler.Change.CREATED), change("other", "/b", file_handler.Change.REMOVED)]
        self.export("FileHandler").changed([*changes, change("w", "/data", file_handler.Change.RESCAN)])
        self.assertEqual([[(one.path, one.change) for one in batch] for batch in seen], [[("/data/a", "created"), ("/data", "rescan")]])
        self.assertEqual(called, [("watch", "w", "/data", True)])

    def test_what_became_of_a_fetch_comes_to_its_function(self):
        answers = []
        self.provider.fetch("once", "https://a.example/", answers.append, headers=[("accept", "text/plain")])
        self.provider.poll("again", "https://b.example/", 60_000, answers.append)
        asked = fetch.FetchRequest(None, "https://a.example/", [("accept", "text/plain")], None, None)
        self.assertEqual(called[0], ("start", "once", asked))
        self.assertEqual(called[1][3], 60_000)
        handler = self.export("FetchHandler")
        good = Ok(fetches.FetchResponse(200, [("etag", "1")], b'{"a":1}'))
        slow, refused = Err(fetches.FetchError_TimedOut()), Err(fetches.FetchError_Denied("https://c.example"))
        for batch in ([("once", good), ("again", slow)], [("once", good), ("again", refused)]):
            handler.fetched([fetches.FetchOutcome(*outcome) for outcome in batch])
        first, second, third = answers
        self.assertEqual((first.ok, first.status, first.header("ETag"), first.json()), (True, 200, "1", {"a": 1}))
        self.assertEqual((second.ok, type(second.error)), (False, Unavailable))
        self.assertEqual(type(third.error), Denied)

    def test_what_the_world_does_not_have_is_named_with_the_line_it_needs(self):
        with self.assertRaisesRegex(RuntimeError, "import wharf:provider/shared-state@0.1.0;"):
            self.provider.publish("key", "value")

    def test_webhooks_answer(self):
        answers = {"none": None, "status": 202, "full": WebhookAnswer(200, [("x", "y")], "ok")}
        for name, answer in answers.items():
            self.provider.webhook(name)(lambda webhook, answer=answer: answer)
        self.provider.webhook("bad")(lambda webhook: 1 / 0)
        handler = self.export("WebhookHandler")

        def sent(name):
            answer = handler.receive(webhooks.WebhookRequest(name, "POST", "", [("a", "b")], b""))
            return answer.status, answer.headers, answer.body

        self.assertEqual(sent("none"), (204, None, None))
        self.assertEqual(sent("status"), (202, None, None))
        self.assertEqual(sent("full"), (200, [("x", "y")], b"ok"))
        self.assertEqual(sent("bad"), (500, None, None))
        self.assertEqual(sent("unknown"), (404, None, None))


class Completes(Case):
    def test_suggestions_come_from_the_variable_s_function(self):
        family = self.provider.template("x://{a}{?b}")
        family.read(str)
        family.complete("a")(lambda value, known: [value + str(at) for at in range(150)])
        family.complete("b")(lambda value, known: [known["a"]])
        complete = self.export("Completions").complete
        found = complete(completions.CompletionRequest("x://{a}{?b}", "a", "v", []))
        self.assertEqual((len(found.values), found.total, found.has_more), (100, 150, True))
        self.assertEqual(complete(completions.CompletionRequest("x://{a}{?b}", "b", "", [("a", "1")])).values, ["1"])
        self.assertEqual(complete(completions.CompletionRequest("x://{a}{?b}", "c", "", [])).values, [])
        self.assertEqual(complete(completions.CompletionRequest("x://{z}", "z", "", [])).values, [])
        with self.assertRaises(ValueError):
            family.complete("typo")

    def test_suggestions_among_a_few_values_begin_with_what_is_typed(self):
        family = self.provider.template("x://{a}").complete("a", ["alpha", "beta"])
        family.read(str)
        found = self.export("Completions").complete(completions.CompletionRequest("x://{a}", "a", "b", []))
        self.assertEqual((found.values, found.total, found.has_more), (["beta"], 1, False))


class Exports(Case):
    def test_a_class_of_the_module_s_own_stays(self):
        mine = type("Completions", (), {})
        self.exports["Completions"] = mine
        self.provider.export(self.exports)
        self.assertIs(self.exports["Completions"], mine)
        self.assertIn("Resources", self.exports)

    def test_a_mistake_in_the_source_shows_when_it_is_built(self):
        self.provider.resource("x://a")
        with self.assertRaisesRegex(ValueError, "x://a has no read"):
            self.provider.export({})
        with self.assertRaisesRegex(ValueError, "already"):
            self.provider.resource("x://a")

    def test_an_export_that_the_world_lacks_is_named_when_it_is_built(self):
        self.provider.template("x://{a}").complete("a", ["b"]).read(str)
        there = bindings._exports.pop("completions")
        self.addCleanup(bindings._exports.__setitem__, "completions", there)
        with self.assertRaisesRegex(RuntimeError, "export wharf:provider/completions@0.1.0;"):
            self.provider.export({})


if __name__ == "__main__":
    unittest.main()
