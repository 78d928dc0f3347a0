import { describe, expect, test } from "vitest";
import { proofOf } from "../../../tests/support/proof-suite.ts";
import { memoryFiles, NOON_MS, sampleFiles } from "../../../tests/support/small-catalogue.ts";
import { DAY_MS } from "../../kit/time.ts";
import type { Endpoint } from "./catalogue.ts";
import { compileDecisionSupport } from "./decisions-support.ts";
import { loadCatalogue } from "./load.ts";
import { ProofRegistry } from "./proof-registry.ts";
import { proofSubject } from "./proofs.ts";

const RULES = { maxAgeMs: 30 * DAY_MS, failuresMax: 2 };

async function endpoints(): Promise<{ judge: Endpoint; other: Endpoint }> {
  const loaded = await loadCatalogue(["cat"], NOON_MS, memoryFiles("cat", sampleFiles()));
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const [judge, other] = [...loaded.snapshot.endpoints.values()];
  if (judge === undefined || other === undefined) throw new Error("no endpoints");
  return { judge, other };
}

async function openBook() {
  const { judge, other } = await endpoints();
  let subject = "s1";
  const book = new ProofRegistry(RULES, { subjectOf: () => subject, isExempt: () => false });
  const at = (atMs: number, result: "proven" | "failed" = "proven") =>
    book.record([proofOf(`p${atMs}`, atMs, { endpoint: judge.id, result })]);
  return {
    book,
    judge,
    other,
    at,
    fails: (atMs: number) => at(atMs, "failed"),
    is: (nowMs: number) => book.isProven(judge, "decisions", nowMs),
    become: (next: string) => {
      subject = next;
    },
  };
}

/** The version that planning sees at that time. */
function versionAt(proofs: ProofRegistry, nowMs: number): number {
  if (nowMs >= proofs.nextExpiryMs) proofs.expire(nowMs);
  return proofs.version;
}

describe("DEC-02 TTS-09 an endpoint", () => {
  test("is proven by a success, on that surface only", async () => {
    const { book, judge, other, at, is } = await openBook();
    expect(is(1)).toBe(false);
    at(1);
    expect(is(2)).toBe(true);
    expect(book.isProven(judge, "speech", 2)).toBe(false);
    expect(book.isProven(other, "decisions", 2)).toBe(false);
  });

  test("stays proven after one failure, not after two in a row, and recovers with a success", async () => {
    const { at, fails, is } = await openBook();
    at(1);
    fails(2);
    expect(is(3)).toBe(true);
    at(4);
    fails(5);
    expect(is(6)).toBe(true);
    fails(7);
    expect(is(8)).toBe(false);
    at(9);
    expect(is(10)).toBe(true);
  });

  test("that never succeeded is not proven", async () => {
    const { fails, is } = await openBook();
    fails(1);
    expect(is(2)).toBe(false);
  });

  test("is proven until its proof expires", async () => {
    const { at, is } = await openBook();
    at(1);
    expect(is(RULES.maxAgeMs)).toBe(true);
    expect(is(RULES.maxAgeMs + 1)).toBe(false);
  });

  test("with a changed configuration must be proven again, and old failures do not count", async () => {
    const { book, judge, at, fails, is, become } = await openBook();
    at(1);
    fails(2);
    become("s2");
    expect(is(3)).toBe(false);
    book.record([proofOf("q1", 4, { endpoint: judge.id, subject: "s2", result: "failed" })]);
    expect(book.status(judge, "decisions")).toMatchObject({ failures: 1, provenAtMs: null });
    book.record([proofOf("q2", 5, { endpoint: judge.id, subject: "s2" })]);
    expect(is(6)).toBe(true);
  });
});

describe("DEC-05 image input of an endpoint", () => {
  const opened = async () => {
    const scene = await openBook();
    const seeing = { ...scene.judge, decisions: compileDecisionSupport({ images: "state_items" }, "no_images") };
    const blind = (atMs: number) =>
      scene.book.record([proofOf(`p${atMs}`, atMs, { endpoint: seeing.id, withoutImages: true })]);
    return { ...scene, seeing, blind, takes: (nowMs: number) => scene.book.acceptsImages(seeing, nowMs) };
  };

  test("is accepted after a full proof, and never if the catalogue declares none", async () => {
    const { book, judge, at, takes } = await opened();
    expect(takes(1)).toBe(false);
    at(1);
    expect(takes(2)).toBe(true);
    expect(book.acceptsImages({ ...judge, decisions: null }, 2)).toBe(false);
  });

  test("survives one proof without images, not two in a row, and recovers while the endpoint stays proven", async () => {
    const { book, at, blind, takes, is } = await opened();
    at(1);
    const version = versionAt(book, 1);
    blind(2);
    expect([takes(3), is(3), versionAt(book, 3)]).toEqual([true, true, version]);
    blind(4);
    expect([takes(5), is(5)]).toEqual([false, true]);
    expect(versionAt(book, 5)).not.toBe(version);
    at(6);
    expect(takes(7)).toBe(true);
  });

  test("expires with its last proof, and a failed probe does not affect it", async () => {
    const { book, blind, fails, at, takes, is } = await opened();
    at(1);
    fails(2);
    expect(takes(3)).toBe(true);
    blind(RULES.maxAgeMs);
    const version = versionAt(book, RULES.maxAgeMs);
    expect([takes(RULES.maxAgeMs + 1), is(RULES.maxAgeMs + 1)]).toEqual([false, true]);
    expect(versionAt(book, RULES.maxAgeMs + 1)).not.toBe(version);
  });
});

describe("the version", () => {
  test("changes when a proof is added, revoked or expires, and not otherwise", async () => {
    const { book, at, fails } = await openBook();
    const seen = [versionAt(book, 0)];
    const look = (nowMs: number) => seen.push(versionAt(book, nowMs));
    at(1);
    look(1);
    at(2);
    look(2);
    fails(3);
    look(3);
    fails(4);
    look(4);
    fails(5);
    look(5);
    at(6);
    look(6);
    look(5 + RULES.maxAgeMs);
    look(6 + RULES.maxAgeMs);
    look(7 + RULES.maxAgeMs);
    const changes = seen.slice(1).map((version, at) => version !== seen[at]);
    expect(changes.slice(0, 6)).toEqual([true, false, false, true, false, true]);
    expect(changes.at(-2)).toBe(true);
    expect(changes.at(-1)).toBe(false);
  });
});

test("a proof covers one model, interface and base URL", async () => {
  const { judge } = await endpoints();
  const at = (baseUrl: string) => ({ baseUrl: () => baseUrl });
  const subject = proofSubject(judge, "decisions", at("https://a.example/v1"));
  expect(proofSubject({ ...judge, status: "preview" }, "decisions", at("https://a.example/v1"))).toBe(subject);
  const others = [
    proofSubject(judge, "decisions", at("https://b.example/v1")),
    proofSubject(judge, "speech", at("https://a.example/v1")),
    proofSubject({ ...judge, upstreamModel: "judge-2" }, "decisions", at("https://a.example/v1")),
    proofSubject({ ...judge, decisionsInterface: "sglang" }, "decisions", at("https://a.example/v1")),
  ];
  expect(new Set([subject, ...others]).size).toBe(5);
  const sandboxed = { ...judge, sandbox: true };
  expect(proofSubject(sandboxed, "decisions", at("http://127.0.0.1:1/v1"))).toBe(
    proofSubject(sandboxed, "decisions", at("http://127.0.0.1:2/v1")),
  );
});
