import { expect, test } from "vitest";
import { mistralImages } from "../../language/images/mistral.ts";
import { belongsTo, imageJobAdapter } from "./image-job.ts";

test.each([
  ["https://api.bfl.ai/v1/get_result?id=1", "https://api.bfl.ai/v1", true],
  ["https://delivery-eu1.bfl.ai/x", "https://api.bfl.ai/v1", true],
  ["https://api.eu1.bfl.ai/x", "https://api.bfl.ai/v1", true],
  ["https://evil.co.uk/x", "https://api.painter.co.uk", false],
  ["https://files.painter.co.uk/x", "https://api.painter.co.uk", true],
  ["https://notbfl.ai/x", "https://api.bfl.ai/v1", false],
  ["http://files.bfl.ai/x", "https://api.bfl.ai/v1", false],
  ["https://files.bfl.ai:8443/x", "https://api.bfl.ai/v1", false],
  ["https://user@files.bfl.ai/x", "https://api.bfl.ai/v1", false],
  ["//evil.example/x", "https://api.bfl.ai/v1", false],
  ["http://10.0.0.1/x", "http://127.0.0.1:8080", false],
])("IMG-01 %s belongs to the domain of %s: %s", (url, baseUrl, belongs) => {
  expect(belongsTo(url, baseUrl)).toBe(belongs);
});

test("IMG-01 the path of a job's file is sent as a whole address, so that no list of paths grows with the jobs", () => {
  const order = { operation: "generation", prompt: "x", inputs: [], parameters: {}, count: 1, upstreamModel: "m" };
  const { sequence, decodeResponse } = imageJobAdapter(mistralImages, {
    order: order as unknown as Parameters<typeof mistralImages.encode>[0],
    baseUrl: "https://api.mistral.ai/v1",
    isWhole: false,
    complete: () => ({ unusable: "not reached" }),
  });
  const content = [{ type: "tool_file", tool: "image_generation", file_id: "f-1", file_name: "x", file_type: "png" }];
  const reply = { object: "conversation.response", outputs: [{ type: "message.output", content }] };
  decodeResponse(Buffer.from(JSON.stringify(reply)), {});
  expect(sequence?.next()?.adapter.path).toBe("https://api.mistral.ai/v1/files/f-1/content");
});
