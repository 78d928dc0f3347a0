import { describe } from "vitest";
import { chars, expectShapes, type Row } from "../../../tests/support/request-shapes.ts";
import { InputItemsQuery, RetrieveQuery } from "./stored-responses.ts";

describe("the query of a response", () =>
  expectShapes(RetrieveQuery, {}, [
    ["stream", [undefined, "true", "false"], ["1", ""]],
    ["starting_after", [undefined, "0", "7"], ["-1", "1.5", "a"]],
    ["include_obfuscation", [undefined, "true", "false"], ["1"]],
  ]));

describe("the query of its items", () => {
  const item = (path: string): Row => [path, [undefined, "a", chars(256)], ["", chars(257)]];
  expectShapes(InputItemsQuery, {}, [
    ["limit", [undefined, "1", "100"], ["0", "101", "1.5", "a"]],
    ["order", [undefined, "asc", "desc"], ["other"]],
    item("after"),
    item("before"),
  ]);
});
