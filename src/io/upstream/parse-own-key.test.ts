import { generateKeyPairSync } from "node:crypto";
import path from "node:path";
import { inspect } from "node:util";
import { beforeAll, describe, expect, test } from "vitest";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import { CircuitBreakers } from "../../domain/routing/endpoint-health.ts";
import { CIRCUIT_BREAKER_RULES } from "../../domain/routing/failing-circuits.ts";
import { createHttpClient } from "../../http1/client/http-client.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import { catalogueFiles } from "../catalogue-files.ts";
import { LoadedOwnKey } from "./own-keys.ts";
import { GOOGLE_TOKEN_URIS, type OwnKeyParsingContext, parseOwnKey } from "./parse-own-key.ts";
import { serviceAccountOnlyProviders } from "./provider-connections.ts";

const CATALOGUE = path.resolve(import.meta.dirname, "../../../catalogue");
const LIMITS = { connections: 1, connectTimeoutMs: 15_000, firstByteTimeoutMs: 15_000, idleTimeoutMs: 15_000 };
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

let reading: OwnKeyParsingContext;
beforeAll(async () => {
  const loaded = await loadCatalogue([CATALOGUE], Date.UTC(2026, 10, 15), catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const snapshot: CatalogueSnapshot = loaded.snapshot;
  const ways = { transport: createHttpClient(LIMITS), clock: systemClock, timers: systemTimers };
  reading = {
    ...ways,
    snapshot,
    tokenUris: GOOGLE_TOKEN_URIS,
    serviceAccountOnly: serviceAccountOnlyProviders({ baseUrls: new Map() }, snapshot),
  };
});

const accountWith = (more: object) =>
  JSON.stringify({
    type: "service_account",
    project_id: "project-1",
    private_key_id: "0123456789abcdef0123456789abcdef",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    client_email: "robot@project-1.iam.example",
    token_uri: "https://oauth2.googleapis.com/token",
    ...more,
  });

describe("a workspace's own key", () => {
  test("BILL-08 a plain key has a hint and a fingerprint, a short key only a fingerprint", () => {
    expect(parseOwnKey(" sk-canary-0123456789 \n", "mistral", reading)).toMatchObject({ kind: "key", hint: "6789" });
    expect(parseOwnKey("sk-short", "mistral", reading)).toMatchObject({
      hint: null,
      fingerprint: expect.stringMatching(/^[0-9a-f]{8}$/),
    });
  });

  test("BILL-08 a plain key is rejected for providers that need a service account", () => {
    expect(parseOwnKey("AIza-canary-0123456789", "google-vertex", reading)).toEqual({
      problem: "must be the key file of a service account: google-vertex does not support plain keys",
    });
    expect(parseOwnKey("AIza-canary-0123456789", "google-ai-studio", reading)).toMatchObject({ kind: "key" });
    const baseUrls = new Map([["GOOGLE_VERTEX__EU", "http://127.0.0.1:1/v1/projects/mine"]]);
    const addressed = { ...reading, serviceAccountOnly: serviceAccountOnlyProviders({ baseUrls }, reading.snapshot) };
    expect(parseOwnKey("AIza-canary-0123456789", "google-vertex", addressed)).toMatchObject({ kind: "key" });
  });

  test.each([
    ['{"access_key_id":"AKID0000EXAMPLE1","secret_access_key":"s/e+c=r-e"}', null],
    ['{"AccessKeyId":"AKID0000EXAMPLE1","SecretAccessKey":"s/e+c=r-e","SessionToken":"t-1"}', "t-1"],
    ['{"AWS_ACCESS_KEY_ID":"AKID0000EXAMPLE1","AWS_SECRET_ACCESS_KEY":"s/e+c=r-e","AWS_SESSION_TOKEN":"t-1"}', "t-1"],
  ])("BILL-08 an AWS key pair is accepted in the spelling %s", (text, sessionToken) => {
    expect(parseOwnKey(text, "aws-bedrock", reading)).toMatchObject({
      kind: "aws",
      hint: "PLE1",
      credential: {
        kind: "aws",
        keys: { accessKeyId: "AKID0000EXAMPLE1", secretAccessKey: "s/e+c=r-e", sessionToken },
      },
    });
  });

  test("BILL-08 a service account is accepted for Google providers only, with a Google token endpoint", () => {
    expect(parseOwnKey(accountWith({}), "google-vertex", reading)).toMatchObject({
      kind: "google",
      hint: "cdef",
      credential: { kind: "minted", project: "project-1" },
    });
    expect(parseOwnKey(accountWith({}), "mistral", reading)).toHaveProperty("problem");
    for (const token_uri of [
      "http://169.254.169.254/latest",
      "https://oauth2.googleapis.com.example/token",
      "http://oauth2.googleapis.com/token",
    ])
      expect(parseOwnKey(accountWith({ token_uri }), "google-vertex", reading)).toEqual({
        problem: expect.stringContaining("token_uri"),
      });
  });

  test("BILL-08 printing a loaded key reveals nothing of it", () => {
    const read = parseOwnKey("sk-canary-0123456789", "mistral", reading);
    if ("problem" in read) throw new Error(read.problem);
    const key = {
      workspaceId: "ws_1",
      provider: "mistral",
      kind: read.kind,
      use: "first",
      hint: read.hint,
      fingerprint: read.fingerprint,
      createdAtMs: 1,
      changedAtMs: 1,
      changedBy: "operator",
      result: "accepted",
      testedAtMs: 1,
    } as const;
    const held = new LoadedOwnKey(key, read.credential, new CircuitBreakers(systemClock, CIRCUIT_BREAKER_RULES));
    expect(held.credential).toEqual({ kind: "bearer", token: "sk-canary-0123456789" });
    expect(inspect(held, { depth: 9, showHidden: true }) + JSON.stringify(held)).not.toContain("canary");
  });
});
