import { expect, test } from "vitest";
import { type CandidateSnapshot, changesBetween } from "./candidate-changes.ts";

type Entry = CandidateSnapshot["candidates"][string];

const snapshot = (candidates: Record<string, Entry>): CandidateSnapshot => ({ router: "{}", candidates });
const planned = (provider: string, model: string): Entry => ({
  provider,
  model,
  outcome: "planned",
  reason: "rank 1",
});
const excluded = (provider: string, model: string, reason: string): Entry => ({
  ...planned(provider, model),
  outcome: "excluded",
  reason,
});

const PLATFORM = { "acme:fr:big": planned("acme", "big") };

test("a node that joins explains all candidates it adds", () => {
  const rack = {
    "node-rack:own:llama-3.1-8b": planned("node-rack", "llama-3.1-8b"),
    "node-rack:own:node/rack/llama": planned("node-rack", "node/rack/llama"),
  };
  expect(changesBetween(snapshot(PLATFORM), snapshot({ ...PLATFORM, ...rack }))).toEqual([
    { kind: "added", reason: "Node rack joined", models: ["llama-3.1-8b", "node/rack/llama"] },
  ]);
  expect(changesBetween(snapshot({ ...PLATFORM, ...rack }), snapshot(PLATFORM))).toEqual([
    { kind: "removed", reason: "Node rack disconnected", models: ["llama-3.1-8b", "node/rack/llama"] },
  ]);
});

test("a node that joins and is excluded says by what", () => {
  const rack = { "node-rack:own:llama": excluded("node-rack", "llama", "country is not allowed") };
  expect(changesBetween(snapshot({}), snapshot(rack))).toEqual([
    { kind: "removed", reason: "Node rack joined, but is excluded: country is not allowed", models: ["llama"] },
  ]);
});

test("an endpoint that becomes excluded, or no longer is, says why", () => {
  const open = { "acme:fr:big": excluded("acme", "big", "circuit open") };
  expect(changesBetween(snapshot(PLATFORM), snapshot(open))).toEqual([
    { kind: "removed", reason: "acme is excluded: circuit open", models: ["big"] },
  ]);
  expect(changesBetween(snapshot(open), snapshot(PLATFORM))).toEqual([
    { kind: "added", reason: "acme is no longer excluded: circuit open", models: ["big"] },
  ]);
});

test("the same candidates are no change, nor is an excluded endpoint of the catalogue that comes or goes", () => {
  expect(changesBetween(snapshot(PLATFORM), snapshot(PLATFORM))).toEqual([]);
  const other = { "other:us:big": excluded("other", "big", "level too low") };
  expect(changesBetween(snapshot(PLATFORM), snapshot({ ...PLATFORM, ...other }))).toEqual([]);
  expect(changesBetween(snapshot({ ...PLATFORM, ...other }), snapshot(PLATFORM))).toEqual([]);
});
