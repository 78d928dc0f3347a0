import { expect, test } from "vitest";
import { attributeMemoryToNode, classifyRejection } from "./rejected-response.ts";

test.each([
  ["no one if other responses use the memory", false, "none"],
  ["the endpoint if the response alone is too large", true, "endpoint"],
])("SAFE-01 a response without memory ends the request and blames %s", (_name, isTooLarge, on) => {
  const verdict = classifyRejection({ is: "memory", why: "no room", isTooLarge }, "mistral");
  expect(verdict).toMatchObject({ is: "stop", unread: { blame: { on } }, fault: { status: 502 } });
  expect(attributeMemoryToNode(verdict, "rack")).toMatchObject({
    is: "stop",
    unread: { blame: { on: "endpoint" } },
    fault: { status: 502, message: expect.stringContaining("The response of the node rack was rejected: no room") },
  });
});
