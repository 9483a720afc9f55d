import assert from "node:assert/strict";
import { test } from "node:test";

import { NO_STEP, isName, kept, nameOf, shown, stepOf, stepped, valueOf } from "../build/count.js";

test("a name goes into a URI as it is", () => {
  for (const name of ["builds", "a", "Team-1.errors_500", "x".repeat(100)]) assert.ok(isName(name), name);
  for (const name of ["", "a b", "a/b", "ä", "a%20b", "x".repeat(101)]) assert.ok(!isName(name), name);
});

test("a path has the name, and the query the step", () => {
  assert.equal(nameOf("/builds?by=2"), "builds");
  for (const path of ["", "?by=2", "builds", "/", "/a/b", "/a%20b"]) assert.equal(nameOf(path), "", path);
  for (const [path, step] of [["/a", 1n], ["/a?by=2", 2n], ["/a?x=1&by=-3", -3n], ["/a?x", 1n], ["/a?by=0", 0n]]) assert.equal(stepOf(path), step, path);
  const none = typeof NO_STEP === "object" ? NO_STEP.value : NO_STEP;
  for (const path of ["/a?by=", "/a?by=x", "/a?by=1.5", "/a?by=1000000001", "/a?by=99999999999999999999"]) assert.equal(stepOf(path), none, path);
});

test("what is kept is read again, and stops where numbers are not exact", () => {
  assert.equal(valueOf(""), 0n);
  assert.equal(valueOf(kept(-3n, 1700000000000)), -3n);
  assert.equal(stepped(9007199254740990n, 5n), 9007199254740991n);
  assert.deepEqual(JSON.parse(shown("builds", kept(3n, 1700000000000))), { name: "builds", value: 3, changed: "2023-11-14T22:13:20.000Z" });
  assert.deepEqual(JSON.parse(shown("builds", "")), { name: "builds", value: 0 });
});
