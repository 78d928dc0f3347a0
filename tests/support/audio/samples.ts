import { readFileSync } from "node:fs";
import { z } from "zod";

const encodedFile = z.object({
  files: z.record(z.string(), z.object({ decodedSeconds: z.number(), base64: z.string() })),
});
const sandboxFile = z.object({
  files: z.array(
    z.object({
      format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]),
      seconds: z.number(),
      decodedSeconds: z.number(),
      sha256: z.string(),
    }),
  ),
});

/** A short file of a real encoder, and its duration by a real decoder. */
export type Sample = { readonly name: string; readonly bytes: Buffer; readonly decodedSeconds: number };

export function encodedSamples(): Sample[] {
  return Object.entries(encodedFile.parse(read("encoded.json")).files).map(([name, { base64, decodedSeconds }]) => ({
    name,
    bytes: Buffer.from(base64, "base64"),
    decodedSeconds,
  }));
}

export function encodedSample(name: string): Buffer {
  const sample = encodedSamples().find((one) => one.name === name);
  if (sample === undefined) throw new Error(`there is no sample ${name}`);
  return sample.bytes;
}

/** What a real decoder made of the sandbox's audio. */
export function verifiedSpeech(): z.infer<typeof sandboxFile>["files"] {
  return sandboxFile.parse(read("sandbox.json")).files;
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"));
}
