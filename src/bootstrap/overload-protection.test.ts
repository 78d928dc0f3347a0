import { expect, test } from "vitest";
import { readConfig } from "../settings/config.ts";
import { pipelineLimits } from "./overload-protection.ts";

const MINUTES = 60_000;

test.each<[string, Record<string, string>, number, number]>([
  ["by default", {}, 10 * MINUTES, 10 * MINUTES],
  ["with its own setting", { GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: "1500" }, 1500, 1500],
  ["with a first-byte timeout", { GATEWAY_FIRST_BYTE_TIMEOUT_MS: "900" }, 900, 10 * MINUTES],
  ["with an idle timeout", { GATEWAY_IDLE_TIMEOUT_MS: "800" }, 10 * MINUTES, 800],
  [
    "with all three",
    { GATEWAY_WHOLE_RESPONSE_TIMEOUT_MS: "1500", GATEWAY_FIRST_BYTE_TIMEOUT_MS: "900", GATEWAY_IDLE_TIMEOUT_MS: "800" },
    1500,
    1500,
  ],
])("ROUTE-04 the timeouts of a response that is not streamed, %s", (_, env, firstByteTimeoutMs, idleTimeoutMs) => {
  expect(pipelineLimits(readConfig(env)).wholeResponse).toEqual({ firstByteTimeoutMs, idleTimeoutMs });
});
