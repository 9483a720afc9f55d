import assert from "node:assert/strict";
import { test } from "node:test";

import { greeting, seconds } from "../build/content.js";

test("a greeting has the name in it", () => assert.equal(greeting("Ada"), "Hello, Ada!"));

test("seconds are counted", () => assert.deepEqual([0, 1, 2].map(seconds), ["0 seconds", "1 second", "2 seconds"]));
