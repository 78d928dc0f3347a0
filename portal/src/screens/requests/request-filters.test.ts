import { expect, test } from "vitest";
import { mergeRequests } from "./live-requests.ts";
import { queryOf, type RequestRow } from "./request-filters.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);
const query = (words: Readonly<Record<string, string>>) => queryOf((name) => words[name] ?? "", NOW_MS);

test("PORTAL-03 URL filters map to API filters; unknown values are dropped", () => {
  expect(query({})).toEqual({});
  expect(query({ key: "key_1", status: "4xx", env: "live", surface: "speech", live: "1" })).toEqual({
    key: "key_1",
    status: "4xx",
    env: "live",
    surface: "speech",
  });
  const others = { member: "grace@example.eu", model: "auto", provider: "ovh", app: "backend" };
  expect(query(others)).toEqual(others);
  expect(query({ env: "everywhere", surface: "fax" })).toEqual({});
});

test("PORTAL-03 a period ends now or is a custom range; invalid times are dropped", () => {
  const since = (range: string) => query({ range }).since;
  expect(["1h", "24h", "7d", "30d"].map(since)).toEqual([
    "2026-11-15T11:00:00.000Z",
    "2026-11-14T12:00:00.000Z",
    "2026-11-08T12:00:00.000Z",
    "2026-10-16T12:00:00.000Z",
  ]);
  expect(query({ range: "custom", since: "2026-11-01T00:00", until: "never" })).toEqual({
    since: new Date(2026, 10, 1).toISOString(),
  });
});

test("PORTAL-03 pages and live requests merge newest first without duplicates", () => {
  const row = (id: string, created_at: string): RequestRow => ({ ...ROW, id, created_at });
  const [a, b, c] = [
    row("a", "2026-11-15T12:00:02Z"),
    row("b", "2026-11-15T12:00:01Z"),
    row("c", "2026-11-15T12:00:01Z"),
  ];
  expect(mergeRequests([b, a], [c, b]).map(({ id }) => id)).toEqual(["a", "c", "b"]);
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
  level_attested: false,
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
    images: null,
    search_units: null,
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
