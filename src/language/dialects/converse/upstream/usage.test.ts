import { describe, expect, test } from "vitest";
import { IMPLAUSIBLE_TOKENS } from "../../../canon/usage.ts";
import { decodeProblem } from "./errors.ts";
import { decodeUsage } from "./usage.ts";

describe("usage", () => {
  test("CHAT-07 cache reads and writes are added to the input, as in the provider's total", () => {
    const recorded = { cacheReadInputTokens: 0, cacheWriteInputTokens: 1028, inputTokens: 11, outputTokens: 236 };
    const usage = decodeUsage({ ...recorded, totalTokens: 1275, serverToolUsage: {} });
    expect(usage).toMatchObject({ inputTokens: 1039, cachedTokens: 0, cacheWriteTokens: 1028, outputTokens: 236 });
    expect((usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)).toBe(1275);
  });

  test("CHAT-07 counts under two names count once; the older name alone counts too", () => {
    const twice = { cacheReadInputTokenCount: 9, cacheReadInputTokens: 9, inputTokens: 1, outputTokens: 1 };
    expect(decodeUsage(twice)).toMatchObject({ inputTokens: 10, cachedTokens: 9 });
    const older = { cacheReadInputTokenCount: 9, cacheWriteInputTokenCount: 4, inputTokens: 1, outputTokens: 1 };
    expect(decodeUsage(older)).toMatchObject({ inputTokens: 14, cachedTokens: 9, cacheWriteTokens: 4 });
  });

  test("CHAT-07 cache writes by lifetime are summed and not added to the total", () => {
    const cacheDetails = [
      { ttl: "5m", inputTokens: 3 },
      { ttl: "1h", inputTokens: 4 },
    ];
    expect(decodeUsage({ inputTokens: 1, outputTokens: 1, cacheDetails })).toMatchObject({
      cacheWriteTokens: 7,
      cacheWrite1hTokens: 4,
    });
    expect(decodeUsage({ inputTokens: 1, outputTokens: 1, cacheDetails, cacheWriteInputTokens: 7 })).toMatchObject({
      inputTokens: 8,
      cacheWriteTokens: 7,
    });
  });

  test.each([undefined, null, "many", {}, { inputTokens: "3", outputTokens: 1 }])(
    "absent or non-numeric counts give no usage: %o",
    (value) => {
      expect(decodeUsage(value)).toBeUndefined();
    },
  );

  test.each([
    { inputTokens: -3, outputTokens: 1 },
    { inputTokens: 1.5, outputTokens: 1 },
    { inputTokens: 1, outputTokens: 1e12 },
    { inputTokens: -5, outputTokens: 1, cacheReadInputTokens: 9 },
  ])("implausible counts are marked: %o", (value) => {
    expect(decodeUsage(value)).toBe(IMPLAUSIBLE_TOKENS);
  });
});

describe("problems", () => {
  test("the exception name ends at its colon or starts after its hash; the message has two spellings", () => {
    const header = { "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/" };
    expect(decodeProblem({ message: "slow down" }, 429, header)).toEqual({
      message: "slow down",
      code: "ThrottlingException",
      type: null,
      status: 429,
    });
    const body = { __type: "com.amazon.coral.service#AccessDeniedException", Message: "no" };
    expect(decodeProblem(body, 403, {})).toMatchObject({ message: "no", code: "AccessDeniedException" });
  });

  test.each([undefined, "text", [1], {}, { message: 5 }])("any body is decoded: %o", (body) => {
    expect(decodeProblem(body, 503, {})).toEqual({
      message: "the provider stated no reason",
      code: null,
      type: null,
      status: 503,
    });
  });

  test("ERR-09 ARNs of the operator are removed, and huge messages are cut", () => {
    const message = "User: arn:aws:iam::123456789012:user/gateway may not use arn:aws:bedrock:eu-west-1::model/x (403)";
    const said = decodeProblem({ message }, 400, {}).message;
    expect(said).not.toMatch(/arn:|123456789012|gateway/);
    expect(said).toContain("may not use");
    expect(decodeProblem({ message: "x".repeat(90_000) }, 400, {}).message).toHaveLength(65_536);
  });
});
