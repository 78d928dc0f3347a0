import { expect, test } from "vitest";
import { startGateway } from "../support/gateway.ts";
import { SEED_CATALOGUE } from "../support/recordings.ts";
import { connectedTo } from "../support/scene.ts";
import { receivedForm, transcribe } from "../support/transcriptions.ts";
import { startUpstream } from "../support/upstream.ts";

test("STT-01 an endpoint of a catalogue of seven flat lists can be called", async () => {
  const upstream = await startUpstream();
  const gateway = await startGateway({
    env: {
      ...connectedTo(new Map([["groq", upstream]])),
      GATEWAY_CATALOGUE_DIR: SEED_CATALOGUE,
      GATEWAY_SANDBOX: "off",
    },
  });
  upstream.next({ json: { text: "Hi", segments: [{ start: 0, end: 2, text: "Hi" }] } });
  const { key } = await gateway.tenant();
  const answer = await transcribe(gateway, key, [
    ["model", "openai/whisper-large-v3"],
    ["response_format", "srt"],
  ]);
  expect(answer.text).toBe("1\n00:00:00,000 --> 00:00:02,000\nHi\n\n");
  expect(receivedForm(upstream.requests[0] ?? { raw: Buffer.alloc(0), headers: {} }).fields).toContainEqual([
    "response_format",
    "verbose_json",
  ]);
  await gateway.close();
  await upstream.close();
});
