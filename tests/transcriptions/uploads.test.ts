import { readdirSync, readlinkSync, statSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { exchange } from "../edge/wire.ts";
import { eventually } from "../support/eventually.ts";
import type { Called, Tenant } from "../support/gateway.ts";
import { openScene, type Scene } from "../support/scene.ts";
import {
  BOUNDARY,
  fieldPart,
  filePart,
  formBytes,
  sendBytes,
  sound,
  startUpload,
  transcribe,
} from "../support/transcriptions.ts";

const MODEL = "openai/whisper-1";
const LIMIT = 2_000_000;
const TOGETHER = 3_000_000;

let scene: Scene;
let tenant: Tenant;
let before: number;
beforeAll(async () => {
  scene = await openScene(["openai"], {
    GATEWAY_UPLOAD_MAX_BYTES: String(LIMIT),
    GATEWAY_FILE_MAX_BYTES: String(LIMIT),
    GATEWAY_UPLOADS_MAX_BYTES: String(TOGETHER),
  });
  scene.at("openai").always({ json: { text: "Hi", usage: { type: "duration", seconds: 2 } } });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant({ credit: "10" });
  before = requestCount();
});

const requestCount = () => scene.at("openai").requests.length;
const send = (fields: readonly (readonly [string, string])[], file?: { name: string; bytes: Buffer } | null) =>
  transcribe(scene.gateway, tenant.key, fields, file);
const sendForm = (bytes: Buffer, headers?: Record<string, string>) =>
  sendBytes(scene.gateway, tenant.key, bytes, headers);
const codeOf = ({ status, body }: Called) => [status, body?.error?.code, body?.error?.param];

test("CLASS-02 the name of an uploaded file is inspected, because providers receive it", async () => {
  await scene.gateway.manage("PATCH", `/workspaces/${tenant.slug}/policy`, {
    data_classes: { personal: { action: "block" } },
  });
  const refused = await send([["model", MODEL]], { name: "call with jane.doe@mail.example.eu", bytes: sound(1) });
  expect(codeOf(refused)).toEqual([403, "data_class_not_permitted", "file.filename"]);
  expect(requestCount()).toBe(before);
});

/** Sizes of upload files that this process still has open, named or unlinked. */
function openFiles(): number[] {
  const folder = path.join(scene.gateway.dataDir, "tmp");
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const file = `/proc/self/fd/${fd}`;
      return readlinkSync(file).startsWith(folder) ? [statSync(file).size] : [];
    } catch {
      return [];
    }
  });
}

/** A busy machine needs time to read what was sent. */
const LONG_TIMEOUT = { timeout: 15_000 };
const expectNoOpenFiles = () => eventually(() => expect(openFiles()).toEqual([]), LONG_TIMEOUT);
const good = [fieldPart("model", MODEL), filePart(sound(2))];

describe("form validation", () => {
  test.each([
    [
      "an unknown field",
      [
        ["model", MODEL],
        ["tempo", "1"],
      ],
      400,
      "unsupported_parameter",
      "tempo",
    ],
    [
      "a name inside a name",
      [
        ["model", MODEL],
        ["include[a][b]", "x"],
      ],
      400,
      "unsupported_parameter",
      "include[a][b]",
    ],
    [
      "a member of a scalar",
      [
        ["model", MODEL],
        ["prompt[x]", "x"],
      ],
      400,
      "unsupported_parameter",
      "prompt[x]",
    ],
    [
      "a prototype",
      [
        ["model", MODEL],
        ["__proto__", "x"],
      ],
      400,
      "unsupported_parameter",
      "__proto__",
    ],
    [
      "a field twice",
      [
        ["model", MODEL],
        ["model", MODEL],
      ],
      400,
      "invalid_value",
      "model",
    ],
    ["no model", [["prompt", "x"]], 400, "invalid_value", "model"],
    [
      "an unknown format",
      [
        ["model", MODEL],
        ["response_format", "docx"],
      ],
      400,
      "invalid_value",
      "response_format",
    ],
    [
      "a temperature as text",
      [
        ["model", MODEL],
        ["temperature", "warm"],
      ],
      400,
      "invalid_value",
      "temperature",
    ],
    [
      "a temperature too high",
      [
        ["model", MODEL],
        ["temperature", "1.5"],
      ],
      400,
      "invalid_value",
      "temperature",
    ],
    [
      "stream as maybe",
      [
        ["model", MODEL],
        ["stream", "maybe"],
      ],
      400,
      "invalid_value",
      "stream",
    ],
    [
      "times without verbose_json",
      [
        ["model", MODEL],
        ["timestamp_granularities[]", "word"],
      ],
      400,
      "invalid_value",
      "timestamp_granularities",
    ],
    [
      "events of subtitles",
      [
        ["model", MODEL],
        ["stream", "true"],
        ["response_format", "srt"],
      ],
      400,
      "invalid_value",
      "stream",
    ],
    ["auto", [["model", "auto"]], 400, "router_not_supported", "model"],
    ["a router", [["model", "@team/fast"]], 400, "router_not_supported", "model"],
    ["an unknown model", [["model", "missing/model"]], 404, "model_not_found", undefined],
    ["a chat model", [["model", "openai/gpt-oss-120b"]], 404, "model_not_found", undefined],
  ] as const)("STT-01 ERR-10 %s", async (_what, fields, status, code, param) => {
    const answer = await send(fields);
    expect(codeOf(answer).slice(0, 2), answer.text).toEqual([status, code]);
    if (param !== undefined) expect(answer.body.error.param).toBe(param);
    expect(requestCount()).toBe(before);
  });

  test("STT-01 no file, an empty one, one without a name, two of them, one in another field", async () => {
    const model = fieldPart("model", MODEL);
    const cases: [Buffer, string, string | undefined][] = [
      [formBytes([model]), "invalid_value", "file"],
      [formBytes([model, filePart(Buffer.alloc(0))]), "invalid_value", "file"],
      [formBytes([model, fieldPart("file", "RIFF")]), "invalid_value", "file"],
      [formBytes([model, filePart(sound(1)), filePart(sound(1))]), "invalid_value", "file"],
      [
        formBytes([{ ...filePart(sound(1)), head: filePart(sound(1)).head.replace('"file"', '"model"') }]),
        "unsupported_parameter",
        "model",
      ],
    ];
    for (const [bytes, code, param] of cases) expect(codeOf(await sendForm(bytes))).toEqual([400, code, param]);
    expect(requestCount()).toBe(before);
  });

  test.each([
    ["audio in a text field", sound(1)],
    ["audio above the limit of a text field", Buffer.alloc(100_000, "a")],
  ])("STT-01 %s in a part without a file name: the refusal names what is missing", async (_what, body) => {
    const nameless = { head: 'Content-Disposition: form-data; name="file"\r\nContent-Type: audio/wav', body };
    const refused = await sendForm(formBytes([fieldPart("model", MODEL), nameless]));
    expect(codeOf(refused)).toEqual([400, "invalid_value", "file"]);
    expect(refused.body.error.message).toContain("must be sent as a file, with a file name");
    expect(requestCount()).toBe(before);
  });

  test("STT-01 a second file under another name is refused by that name", async () => {
    const other = filePart(sound(1));
    const more = { ...other, head: other.head.replace('name="file"', 'name="voice"') };
    expect(codeOf(await sendForm(formBytes([...good, more])))).toEqual([400, "unsupported_parameter", "voice"]);
    expect(requestCount()).toBe(before);
    await expectNoOpenFiles();
  });

  test.each(["False", "FALSE"])("STT-01 stream as %s, Python's spelling of false, is false", async (stream) => {
    const answer = await send([
      ["model", MODEL],
      ["stream", stream],
    ]);
    expect([answer.status, answer.body.text]).toEqual([200, "Hi"]);
  });

  test("STT-01 lists with and without brackets, and empty fields without effect", async () => {
    const fields = [
      ["model", MODEL],
      ["language", ""],
      ["prompt", ""],
      ["response_format", "json"],
    ] as const;
    expect((await send(fields)).status).toBe(200);
    const verbose = {
      text: "Hi",
      segments: [{ start: 0, end: 1, text: "Hi" }],
      words: [{ word: "Hi", start: 0, end: 1 }],
    };
    for (const name of ["timestamp_granularities[]", "timestamp_granularities", "timestamp_granularities[0]"]) {
      scene.at("openai").next({ json: verbose });
      const answer = await send([
        ["model", MODEL],
        ["response_format", "verbose_json"],
        [name, "word"],
      ]);
      expect(answer.body.words, answer.text).toEqual(verbose.words);
      expect(answer.body.segments).toBeUndefined();
    }
  });
});

describe("C7 hostile forms", () => {
  test.each([
    ["another type", "application/json"],
    ["no boundary", "multipart/form-data"],
    ["an empty boundary", "multipart/form-data; boundary="],
    ["a tab where a slash should be", "multipart\tform-data; boundary=x"],
    ["a longer content type", "multipart/form-datax; boundary=x"],
    ["another kind of multipart", "multipart/mixed; boundary=x"],
  ])("GEN-05 %s: 415", async (_what, type) => {
    const answer = await sendForm(formBytes(good), { "content-type": type });
    expect(codeOf(answer).slice(0, 2)).toEqual([415, "unsupported_media_type"]);
  });

  test("GEN-05 a compressed form: 415", async () => {
    const answer = await sendForm(formBytes(good), { "content-encoding": "gzip" });
    expect(codeOf(answer).slice(0, 2)).toEqual([415, "unsupported_media_type"]);
  });

  test("a quoted boundary and an additional charset are accepted", async () => {
    const type = `multipart/form-data; charset=utf-8; boundary="${BOUNDARY}"`;
    expect((await sendForm(formBytes(good), { "content-type": type })).status).toBe(200);
  });

  test.each([
    ["no type", ""],
    ["text/plain", "\r\nContent-Type: text/plain"],
  ])("STT-01 a file with %s is forwarded with the type of its bytes", async (_what, type) => {
    const head = `Content-Disposition: form-data; name="file"; filename="a"${type}`;
    const sentAs = async (body: Buffer) => {
      await sendForm(formBytes([fieldPart("model", MODEL), { head, body }]));
      const raw = scene.at("openai").requests.at(-1)?.raw.toString("latin1") ?? "";
      return /filename="a"\r\ncontent-type: ([^\r]+)/i.exec(raw)?.[1];
    };
    expect(await sentAs(sound(2))).toBe("audio/wav");
    expect(await sentAs(Buffer.from("no sound that anyone knows"))).toBe("application/octet-stream");
  });

  test("a hundred thousand parts: 400, and nothing is stored", async () => {
    const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n`;
    const answer = await sendForm(Buffer.from(part.repeat(Math.floor((LIMIT - 100) / part.length))));
    expect(codeOf(answer).slice(0, 2)).toEqual([400, "invalid_request"]);
    await expectNoOpenFiles();
  });

  test.each([
    ["one that ends inside its file", formBytes(good, "").subarray(0, -50)],
    ["one without an end", formBytes(good, "")],
    ["one that is not a form", Buffer.from("hello")],
    ["an empty one", Buffer.alloc(0)],
    ["a part without a name", formBytes([{ head: "Content-Disposition: form-data", body: "x" }, ...good])],
    ["a name of a megabyte", formBytes([fieldPart("n".repeat(1_000_000), "x"), ...good])],
    ["a field of a megabyte", formBytes([fieldPart("prompt", "x".repeat(1_000_000)), ...good])],
    ["a field of invalid UTF-8", formBytes([{ ...fieldPart("prompt", ""), body: Buffer.from([0xff, 0xfe]) }, ...good])],
  ])("%s: 400", async (_what, bytes) => {
    const answer = await sendForm(bytes);
    expect(answer.status, answer.text).toBe(400);
    expect(requestCount()).toBe(before);
    await expectNoOpenFiles();
  });
});

describe("C5 sizes", () => {
  const head = (more: string) =>
    `POST /v1/audio/transcriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tenant.key}\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\n${more}\r\n\r\n`;

  test("GEN-05 a Content-Length over the limit is refused before the body is read", async () => {
    const pieces = [head(`content-length: ${LIMIT + 1}\r\nexpect: 100-continue`)];
    const { answers } = await exchange(scene.gateway.url, pieces, { answers: 1 });
    expect(answers.map(({ status }) => status)).toEqual([413]);
    expect(answers[0]?.body).toContain(String(LIMIT));
  });

  test("GEN-05 a chunked body that exceeds the limit: 413 that names the limit", async () => {
    const request = startUpload(scene.gateway, tenant.key);
    const answered = new Promise<{ status: number; text: string }>((resolve) =>
      request.on("response", async (response) => {
        const text = Buffer.concat(await response.toArray()).toString("utf8");
        resolve({ status: response.statusCode ?? 0, text });
      }),
    );
    request.write(formBytes(good, "").subarray(0, -2));
    for (let sent = 0; sent < LIMIT * 2; sent += 100_000) request.write(Buffer.alloc(100_000));
    const { status, text } = await answered;
    request.destroy();
    expect([status, text.includes(String(LIMIT))]).toEqual([413, true]);
    await expectNoOpenFiles();
  });

  test("GEN-05 a body of exactly the limit passes, one byte more does not, with and without Content-Length", async () => {
    const formOf = (file: Buffer) => formBytes([fieldPart("model", MODEL), filePart(file)]);
    const room = LIMIT - formOf(Buffer.alloc(0)).length;
    for (const [over, refused] of [
      [0, false],
      [1, true],
    ] as const) {
      const bytes = formOf(Buffer.alloc(room + over));
      const pieces = [head("transfer-encoding: chunked"), `${bytes.length.toString(16)}\r\n`, bytes, "\r\n0\r\n\r\n"];
      const { answers } = await exchange(scene.gateway.url, pieces, { answers: 1 });
      expect([answers[0]?.status === 413, (await sendForm(bytes)).status === 413]).toEqual([refused, refused]);
    }
  });

  test("a Content-Length above the actual size: no provider is called, and nothing is stored", async () => {
    const bytes = formBytes([fieldPart("model", MODEL), filePart(sound(20))]);
    await exchange(scene.gateway.url, [head(`content-length: ${bytes.length + 10}`), bytes], { half: "closed" });
    await expectNoOpenFiles();
    expect(requestCount()).toBe(before);
  });

  test("a Content-Length below the actual size: the form is cut there, and the rest is not a request", async () => {
    const bytes = formBytes(good);
    const { answers } = await exchange(scene.gateway.url, [head(`content-length: ${bytes.length - 30}`), bytes]);
    expect(answers[0]?.status).toBe(400);
    expect(requestCount()).toBe(before);
  });

  test("GEN-05 401 and 403 are sent before the upload is read", async () => {
    const chat = await scene.gateway.tenant({ key: { scopes: ["inference:chat"] } });
    const pieces = [head("content-length: 1000000\r\nexpect: 100-continue").replace(tenant.key, chat.key)];
    const { answers } = await exchange(scene.gateway.url, pieces, { answers: 1 });
    expect(answers.map(({ status }) => status)).toEqual([403]);
  });
});

describe("total size of uploads", () => {
  test("C5 above the total: 503 with Retry-After, and capacity again once an upload has ended", async () => {
    const slow = startUpload(scene.gateway, tenant.key);
    slow.write(formBytes([fieldPart("model", MODEL), filePart(Buffer.alloc(1_900_000))], "").subarray(0, -2));
    // The whole size is reserved before another upload requests space.
    await eventually(() => expect(openFiles()[0]).toBeGreaterThan(1_800_000), LONG_TIMEOUT);
    const file = { name: "a.wav", bytes: Buffer.concat([sound(2), Buffer.alloc(1_800_000)]) };
    const refused = await send([["model", MODEL]], file);
    expect(codeOf(refused).slice(0, 2)).toEqual([503, "service_unavailable"]);
    expect(refused.headers.get("retry-after")).toBe("5");
    expect(requestCount()).toBe(before);
    expect((await send([["model", MODEL]])).status).toBe(200);
    slow.destroy();
    await expectNoOpenFiles();
    expect((await send([["model", MODEL]], file)).status).toBe(200);
    await expectNoOpenFiles();
  });
});

describe("client disconnects", () => {
  test("CHAT-09 during an upload: everything is freed, and the log has a row", async () => {
    const request = startUpload(scene.gateway, tenant.key, { "content-length": "1900000" });
    request.write(formBytes([fieldPart("model", MODEL), filePart(Buffer.concat([sound(20)]))], "").subarray(0, -2));
    // Its name is unlinked before the first byte is written.
    await eventually(() => expect(openFiles().filter((bytes) => bytes > 0)).toHaveLength(1), LONG_TIMEOUT);
    expect(readdirSync(path.join(scene.gateway.dataDir, "tmp"))).toEqual([]);
    request.destroy();
    await expectNoOpenFiles();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect([row.surface, row.cost]).toEqual(["transcriptions", "0.00"]);
    expect([row.status, row.error_code]).toEqual([499, "client_disconnected"]);
    expect(requestCount()).toBe(before);
  });

  test("CHAT-09 while the provider works: the call is cancelled and the file freed", async () => {
    const hold = Promise.withResolvers<void>();
    scene.at("openai").next({ gate: hold.promise, json: { text: "late" } });
    const request = startUpload(scene.gateway, tenant.key);
    request.end(formBytes([fieldPart("model", MODEL), filePart(sound(20))]));
    const received = await scene.at("openai").arrived(before + 1);
    expect(openFiles().length).toBe(1);
    request.destroy();
    expect(await received.over).toBe("aborted");
    hold.resolve();
    await expectNoOpenFiles();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row.error_code).toBe("client_disconnected");
    expect(await scene.charges(tenant)).toEqual([]);
  });

  test("an ended request holds no file, with any outcome", async () => {
    const file = { name: "a.wav", bytes: sound(20) };
    const key = { "idempotency-key": "again and again" };
    const fields = [["model", MODEL]] as const;
    await transcribe(scene.gateway, tenant.key, fields, file, key);
    await transcribe(scene.gateway, tenant.key, fields, file, key);
    await send([["model", "missing/model"]], file);
    await send(
      [
        ["model", MODEL],
        ["nothing", "x"],
      ],
      file,
    );
    scene.at("openai").next({ status: 500, json: {} });
    await send(fields, file);
    await expectNoOpenFiles();
  });
});
