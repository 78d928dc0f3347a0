import { readFileSync } from "node:fs";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import path from "node:path";
import { expect, test } from "vitest";
import { PROJECT_ROOT } from "../settings/config.ts";
import { corsHeaders } from "./cors.ts";

test("TTS-10 CORS exposes every documented gateway header", () => {
  const document = readFileSync(path.join(PROJECT_ROOT, "docs/openapi.json"), "utf8");
  const own = new Set(
    [...document.matchAll(/"(X-(?:Svc|RateLimit)-[A-Za-z-]+)": \{/g)].map(([, name = ""]) => name.toLowerCase()),
  );
  const request = new IncomingMessage(new Socket());
  request.headers.origin = "https://page.example";
  const exposed = corsHeaders(request, { origins: ["*"] })["access-control-expose-headers"]?.split(", ");
  expect(own).toContain("x-svc-input-characters");
  expect(exposed).toEqual(expect.arrayContaining([...own]));
});

test("HDR-01 CORS exposes the request id and retry headers that SDKs read", () => {
  const request = new IncomingMessage(new Socket());
  request.headers.origin = "https://page.example";
  const exposed = corsHeaders(request, { origins: ["*"] })["access-control-expose-headers"]?.split(", ");
  expect(exposed).toEqual(expect.arrayContaining(["x-request-id", "request-id", "x-should-retry", "retry-after"]));
});
