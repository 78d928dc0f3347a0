import { describe, expect, test } from "vitest";
import { percentEncode } from "../../kit/percent-encode.ts";
import { awsRegionFor, signAws } from "./sigv4.ts";

/** Key, date, region and service of AWS's published test suite of Signature Version 4. */
const KEYS = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: null,
};
const SCOPE = { region: "us-east-1", service: "service", nowMs: Date.parse("2015-08-30T12:36:00Z") };
const HOST = "https://example.amazonaws.com";

const signatureOf = (headers: Record<string, string>) => headers["authorization"]?.split("Signature=")[1];

describe("AWS Signature Version 4 against the published vectors", () => {
  test("get-vanilla", () => {
    const headers = signAws({ method: "GET", url: `${HOST}/`, headers: {}, body: "" }, KEYS, SCOPE);
    expect(headers).toEqual({
      "x-amz-date": "20150830T123600Z",
      authorization:
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, " +
        "SignedHeaders=host;x-amz-date, Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    });
  });

  test("post-vanilla", () => {
    const headers = signAws({ method: "POST", url: `${HOST}/`, headers: {}, body: "" }, KEYS, SCOPE);
    expect(signatureOf(headers)).toBe("5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
  });

  test("get-vanilla-query-order-key-case: parameters are signed in order", () => {
    const url = `${HOST}/?Param2=value2&Param1=value1`;
    expect(signatureOf(signAws({ method: "GET", url, headers: {}, body: "" }, KEYS, SCOPE))).toBe(
      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    );
  });

  test("post-x-www-form-urlencoded: a header and the body are covered", () => {
    const request = {
      method: "POST",
      url: `${HOST}/`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "Param1=value1",
    };
    const headers = signAws(request, KEYS, SCOPE);
    expect(headers["authorization"]).toContain("SignedHeaders=content-type;host;x-amz-date,");
    expect(signatureOf(headers)).toBe("ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
  });

  test("the key of the documentation's IAM example", () => {
    const request = {
      method: "GET",
      url: "https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08",
      headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" },
      body: "",
    };
    const keys = { ...KEYS, accessKeyId: "AKIDEXAMPLE" };
    const headers = signAws(request, keys, { ...SCOPE, service: "iam" });
    expect(signatureOf(headers)).toBe("5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7");
  });
});

describe("a signature", () => {
  const post = { method: "POST", url: `${HOST}/model/a%3Ab/converse`, headers: {}, body: Buffer.from("{}") };
  const signature = (change: Partial<typeof post> = {}, keys = {}) =>
    signatureOf(signAws({ ...post, ...change }, { ...KEYS, ...keys }, SCOPE));

  test("encodes the path once more, so equal decoded paths sign differently", () => {
    expect(signature()).not.toBe(signature({ url: `${HOST}/model/a:b/converse` }));
  });

  test("depends on body, path, key and session token", () => {
    const all = [
      signature(),
      signature({ body: Buffer.from("{ }") }),
      signature({ url: `${HOST}/model/a%3Ac/converse` }),
      signature({}, { secretAccessKey: "another" }),
      signature({}, { sessionToken: "temporary" }),
    ];
    expect(new Set(all).size).toBe(all.length);
    const headers = signAws(post, { ...KEYS, sessionToken: "temporary" }, SCOPE);
    expect(headers["x-amz-security-token"]).toBe("temporary");
    expect(headers["authorization"]).toContain("SignedHeaders=host;x-amz-date;x-amz-security-token,");
  });

  test("includes a non-default port in the host", () => {
    expect(signature({ url: "http://127.0.0.1:8080/x" })).not.toBe(signature({ url: "http://127.0.0.1:8081/x" }));
  });

  test("uses strict percent-encoding", () => {
    expect(percentEncode("arn:aws:bedrock:eu/profile (a)!'*~_-.")).toBe(
      "arn%3Aaws%3Abedrock%3Aeu%2Fprofile%20%28a%29%21%27%2A~_-.",
    );
  });
});

describe("the region of a signature", () => {
  test.each([
    ["https://bedrock-runtime.eu-central-1.amazonaws.com/model/x", [], "eu-central-1"],
    ["https://vpce-0a-1b.bedrock-runtime.us-gov-west-1.vpce.amazonaws.com", [], "us-gov-west-1"],
    ["http://127.0.0.1:4000", ["https://bedrock-runtime.eu-north-1.amazonaws.com", "eu"], "eu-north-1"],
    ["http://127.0.0.1:4000", [null, "eu-west-1"], "eu-west-1"],
    ["http://127.0.0.1:4000", [null, "eu"], undefined],
  ])("%s", (url, hints, region) => {
    expect(awsRegionFor(url, ...hints)).toBe(region);
  });
});
