import { expect, test } from "vitest";
import { reachableHost } from "./reachable-host.ts";

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["0.0.0.0", "127.0.0.1"],
  ["::", "127.0.0.1"],
  ["::1", "[::1]"],
  ["gateway.example.eu", "gateway.example.eu"],
])("OPS-05 a server on %s is reached at %s", (host, reached) => {
  expect(reachableHost(host)).toBe(reached);
});
