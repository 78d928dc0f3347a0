import path from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { NOON_MS } from "../../../tests/support/small-catalogue.ts";
import { type CatalogueSnapshot, priceAt } from "../../domain/catalogue/catalogue.ts";
import { loadCatalogue } from "../../domain/catalogue/load.ts";
import type { ProvenSurface } from "../../domain/catalogue/proofs.ts";
import { catalogueFiles } from "../../io/catalogue-files.ts";
import { isJsonObject } from "../../kit/json.ts";
import { wavHeader } from "../../language/audio/pcm.ts";
import { synthesizeSpeech } from "../../sandbox/audio/speech.ts";
import { imageColourOf, yesProbability } from "../../sandbox/decision-model.ts";
import { proveDecisions } from "./decisions-proof.ts";
import type { ProbeCall, ProbeTarget } from "./probe.ts";
import { proveSpeech } from "./speech-proof.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
let snapshot: CatalogueSnapshot;
beforeAll(async () => {
  const folders = [path.join(ROOT, "catalogue"), path.join(ROOT, "src/sandbox/catalogue")];
  const loaded = await loadCatalogue(folders, NOON_MS, catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  snapshot = loaded.snapshot;
});

function candidate(id: string, surface: ProvenSurface): ProbeTarget {
  const endpoint = snapshot.endpoints.get(id);
  const model = snapshot.models.get(endpoint?.model ?? "");
  const price = endpoint === undefined ? undefined : priceAt(endpoint, NOON_MS);
  if (endpoint === undefined || model === undefined || price === undefined) throw new Error(`${id} is not there`);
  return { endpoint, model, price, surface, baseUrl: "http://127.0.0.1/v1" };
}

describe("DEC-05 images", () => {
  /** A server of System One with pictures among the items of its state, which it sees or not. */
  const server =
    (seeing: "sees" | "blind"): ProbeCall =>
    async (lane) => {
      const body: unknown = JSON.parse(String(lane.encode()));
      const state = isJsonObject(body) ? body["state"] : undefined;
      const [words, ...images] = Array.isArray(state) ? state : [state];
      const url = /data:image[^"]+/.exec(JSON.stringify(images))?.[0];
      const colour = url === undefined ? null : imageColourOf(url);
      const question = JSON.stringify(isJsonObject(body) ? body["questions"] : null).replace('"q"', "");
      const seen = { state: String(words), imageColour: seeing === "sees" ? colour : null };
      const noul = Number(yesProbability(question, seen).toFixed(2));
      const answer = {
        model: "m",
        answers: { q: { type: "noul", noul } },
        usage: { input_tokens: 9, output_tokens: 1 },
      };
      const read = lane.decodeResponse(Buffer.from(JSON.stringify(answer)), {});
      if (read === undefined || "unusable" in read) throw new Error(JSON.stringify(read));
      return { is: "whole", answer: read };
    };

  test("are proven separately if the catalogue lists them: red and blue are distinguished", async () => {
    const found = await proveDecisions(candidate("sandbox-us:us:sandbox/decide", "decisions"), server("sees"));
    expect(found).toMatchObject({ result: "proven", inputTokens: 36, outputTokens: 4, audioMs: null });
    expect(found.reason).toContain("it distinguishes images");
    expect(found.withoutImages).toBeUndefined();
  });

  test("that a server ignores are not proven", async () => {
    const found = await proveDecisions(candidate("sandbox-us:us:sandbox/decide", "decisions"), server("blind"));
    expect(found).toMatchObject({ result: "proven", withoutImages: true, inputTokens: 36 });
    expect(found.reason).toContain("does not distinguish images");
  });
});

describe("TTS-09 audio", () => {
  /** Sends these bytes as the answer of the endpoint's interface, byte for byte. */
  const sending =
    (audio: Buffer, slice = 1000): ProbeCall =>
    async (lane, heard) => {
      const stream = lane.openAudioStream?.({ "content-type": "application/octet-stream" });
      if (stream === undefined) throw new Error("no audio is asked for");
      const pieces = [];
      for (let at = 0; at < audio.length; at += slice) pieces.push(stream.read(audio.subarray(at, at + slice)));
      for (const piece of [...pieces, stream.end()]) {
        if (piece.is !== "audio") return { is: "failed", why: piece.is === "malformed" ? piece.why : "a problem" };
        heard?.(piece.bytes);
      }
      return { is: "audio", stream };
    };
  const us = () => candidate("sandbox-us:us:sandbox/speak", "speech");
  const inFormat = (format: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm"): ProbeTarget => {
    const { endpoint, ...rest } = us();
    if (endpoint.speech === null) throw new Error("no speech");
    return { ...rest, endpoint: { ...endpoint, speech: { ...endpoint.speech, formats: [format] } } };
  };

  test.each(["mp3", "opus", "aac", "flac", "wav", "pcm"] as const)(
    "is known in %s, however it is cut",
    async (format) => {
      const audio = synthesizeSpeech(format, 0.9);
      for (const slice of [7, audio.length]) {
        const found = await proveSpeech(inFormat(format), sending(audio, slice));
        expect(found.result).toBe("proven");
        expect(found.audioMs).toBeGreaterThan(800);
        expect(found.audioMs).toBeLessThan(1100);
      }
    },
  );

  test("with a header and no sound fails", async () => {
    const found = await proveSpeech(inFormat("wav"), sending(wavHeader({ rateHz: 24_000, channels: 1 })));
    expect(found).toMatchObject({ result: "failed" });
  });

  test("of a click's duration fails, whatever its header says", async () => {
    const short = await proveSpeech(inFormat("wav"), sending(synthesizeSpeech("wav", 0.2)));
    expect(short).toMatchObject({ result: "failed", reason: "its audio lasts 0.20 s", audioMs: 200 });
  });

  test("cannot be requested without a voice, and no call is made", async () => {
    const { endpoint, ...rest } = us();
    if (endpoint.speech === null) throw new Error("no speech");
    const mute = { ...rest, endpoint: { ...endpoint, speech: { ...endpoint.speech, voices: [] } } };
    const never: ProbeCall = async () => {
      throw new Error("asked");
    };
    expect(await proveSpeech(mute, never)).toMatchObject({ result: "failed" });
  });
});
