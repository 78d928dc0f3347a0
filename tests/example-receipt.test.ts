import path from "node:path";
import { expect, test } from "vitest";
import { EXAMPLE_REQUEST } from "../portal/src/screens/start/example-request.ts";
import { priceAt } from "../src/domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../src/domain/catalogue/load.ts";
import { catalogueFiles } from "../src/io/catalogue-files.ts";
import { parseNanos } from "../src/kit/money.ts";

const MILLION = 1_000_000n;

test("PORTAL-20: the receipt on the home page shows an endpoint, a level and a cost of the shipped catalogue", async () => {
  const nowMs = Date.now();
  const loaded = await loadCatalogue([path.resolve(import.meta.dirname, "../catalogue")], nowMs, catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { endpoints, providers } = loaded.snapshot;
  const endpoint = endpoints.get(EXAMPLE_REQUEST.endpoint);
  expect(endpoint).toMatchObject({
    model: EXAMPLE_REQUEST.model,
    status: "active",
    sovereignty: {
      level: EXAMPLE_REQUEST.level,
      countries: [EXAMPLE_REQUEST.country],
      countriesKind: "exact",
      zeroDataRetention: EXAMPLE_REQUEST.zeroDataRetention,
    },
  });
  if (endpoint === undefined) return;
  expect(providers.get(endpoint.provider)?.name).toBe(EXAMPLE_REQUEST.provider);
  const price = priceAt(endpoint, nowMs);
  expect(price?.currency).toBe(EXAMPLE_REQUEST.currency);
  const nanosPerToken = (amount: { digits: bigint; scale: number } | null | undefined) =>
    amount == null ? 0n : (amount.digits * 10n ** 9n) / 10n ** BigInt(amount.scale);
  const nanos =
    nanosPerToken(price?.inputPer1mTokens) * BigInt(EXAMPLE_REQUEST.inputTokens) +
    nanosPerToken(price?.outputPer1mTokens) * BigInt(EXAMPLE_REQUEST.outputTokens);
  expect(parseNanos(EXAMPLE_REQUEST.cost)).toBe(nanos / MILLION);
});
