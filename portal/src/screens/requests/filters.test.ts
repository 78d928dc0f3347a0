import { expect, test } from "vitest";
import { queryOf, type RequestRow } from "./filters.ts";
import { together } from "./tail.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);
const asked = (words: Readonly<Record<string, string>>) => queryOf((name) => words[name] ?? "", NOW_MS);

test("PORTAL-03 filters of the address become those of the server; what no filter knows is left out", () => {
  expect(asked({})).toEqual({});
  expect(asked({ key: "key_1", status: "4xx", env: "live", surface: "speech", live: "1" })).toEqual({
    key: "key_1",
    status: "4xx",
    env: "live",
    surface: "speech",
  });
  const others = { member: "grace@example.eu", model: "auto", provider: "ovh", app: "desk" };
  expect(asked(others)).toEqual(others);
  expect(asked({ env: "everywhere", surface: "fax" })).toEqual({});
});

test("PORTAL-03 a period ends now, or is written out; what is no time is no period", () => {
  const since = (range: string) => asked({ range }).since;
  expect(["1h", "24h", "7d", "30d"].map(since)).toEqual([
    "2026-11-15T11:00:00.000Z",
    "2026-11-14T12:00:00.000Z",
    "2026-11-08T12:00:00.000Z",
    "2026-10-16T12:00:00.000Z",
  ]);
  expect(asked({ range: "own", since: "2026-11-01T00:00", until: "never" })).toEqual({
    since: new Date(2026, 10, 1).toISOString(),
  });
});

test("PORTAL-03 pages and the tail are one list, newest first, each request once", () => {
  const row = (id: string, created_at: string): RequestRow => ({ ...ROW, id, created_at });
  const [a, b, c] = [
    row("a", "2026-11-15T12:00:02Z"),
    row("b", "2026-11-15T12:00:01Z"),
    row("c", "2026-11-15T12:00:01Z"),
  ];
  expect(together([b, a], [c, b]).map(({ id }) => id)).toEqual(["a", "c", "b"]);
});

const ROW: RequestRow = {
  id: "",
  created_at: "",
  key_id: "key_1",
  key_name: null,
  member: null,
  environment: "live",
  app: null,
  surface: "chat",
  model_requested: null,
  model: null,
  provider: null,
  node_id: null,
  endpoint: null,
  level: null,
  countries: null,
  router: null,
  streaming: false,
  status: 200,
  error_code: null,
  usage: {
    input_tokens: null,
    cached_tokens: null,
    cache_write_tokens: null,
    output_tokens: null,
    reasoning_tokens: null,
    characters: null,
    seconds: null,
    estimated: false,
  },
  cost: "0.00",
  own_key: false,
  currency: "EUR",
  ttfb_ms: null,
  total_ms: 1,
  overhead_ms: 1,
  attempts: [],
};
