import { expect, test } from "vitest";
import { negotiateEncoding } from "./content-encoding.ts";

test.each([
  [undefined, "identity"],
  ["", "identity"],
  ["gzip, deflate, br, zstd", "br"],
  ["gzip, deflate", "gzip"],
  ["x-gzip", "gzip"],
  ["GZIP", "gzip"],
  ["deflate", "identity"],
  ["br;q=0.5, gzip;q=0.8", "gzip"],
  ["br;q=0, gzip;q=0.1", "gzip"],
  ["br ; q = 0.9 , gzip", "gzip"],
  ["*", "br"],
  ["*;q=0", "identity"],
  ["br;q=0, *", "gzip"],
  ["gzip;q=0.5, identity", "identity"],
  ["gzip;q=0.5, identity;q=0.5", "gzip"],
  ["identity;q=0", "identity"],
  ["identity;q=0, gzip;q=0.001", "gzip"],
  ["br;q=high, gzip;q=2", "identity"],
  ["br;q=0.0000, gzip;q=0", "identity"],
  [["gzip", "br;q=0"], "gzip"],
])("PORTAL-24 Accept-Encoding %j selects %s", (header, encoding) => {
  expect(negotiateEncoding(header)).toBe(encoding);
});
