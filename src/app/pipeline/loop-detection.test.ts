import { expect, test } from "vitest";
import { shouldSendHops } from "./attempt.ts";

const HOME = "https://api.acme.eu/v1";
const node = { id: "nd_1", name: "rack", workspaceId: "ws_1", isRemote: false };
const SHIPPED = { mark: "us", everywhere: false };
const OWN = { mark: "us", everywhere: true };

test.each([
  ["a provider where the shipped catalogue has it", [], SHIPPED, { baseUrl: HOME }, false],
  ["a project behind that address", [], SHIPPED, { baseUrl: `${HOME}/projects/p` }, false],
  ["an address that only begins alike", [], SHIPPED, { baseUrl: `${HOME}.example.com` }, true],
  ["an address that a setting names", [], SHIPPED, { baseUrl: "http://127.0.0.1:9/v1" }, true],
  ["a node", [], SHIPPED, { baseUrl: HOME, node }, true],
  ["a catalogue of one's own", [], OWN, { baseUrl: HOME }, true],
  ["a request that has passed a gateway", ["other"], SHIPPED, { baseUrl: HOME }, true],
] as const)("NODE-01 the hop header goes to %s or not", (_what, hops, own, at, isSent) => {
  expect(shouldSendHops(hops, own, { node: undefined, ...at, endpoint: { baseUrl: HOME } })).toBe(isSent);
});
