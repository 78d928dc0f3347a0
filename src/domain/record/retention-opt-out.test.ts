import { expect, test } from "vitest";
import { requestsZeroRetention } from "./retention-opt-out.ts";

test("LOG-03 a request for zero data retention is recognized, even in a malformed body", () => {
  for (const body of [
    '{"provider":{"zdr":true},"temperature":"hot"}',
    '{"provider":{"zdr":"true"}}',
    '{"provider":{"\\u007adr":true}}',
    '{"provider":{"zdr":true}',
    '{"provider":{"zdr":true},"provider":{}}',
    `{"provider":{"zdr":true},"a":${"[".repeat(1000)}`,
    // What is kept of a form whose wish is cut off, given twice, or written as forms write members.
    JSON.stringify({ provider: '{"zdr":true' }),
    JSON.stringify({ provider: [{ zdr: true }, { zdr: false }] }),
    JSON.stringify({ provider: ["{", '{"zdr":true'] }),
    JSON.stringify({ "provider[zdr]": "true" }),
  ])
    expect(requestsZeroRetention(body), body.slice(0, 60)).toBe(true);
  for (const body of [
    "{}",
    '{"provider":{"zdr":false}}',
    '{"provider":{"zdr":null}}',
    '{"provider":"zdr"}',
    '{"provider":["zdr"]}',
    '{"provider[only]":"zdr"}',
    '{"messages":[{"content":"what is zdr? \\u0041"}]}',
    "no JSON at all",
  ])
    expect(requestsZeroRetention(body), body).toBe(false);
});
