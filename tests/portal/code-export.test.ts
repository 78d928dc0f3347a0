import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CodeSamples, codeOf } from "../../portal/src/screens/playground/code-samples.ts";
import {
  type Draft,
  EMPTY_CONTENT,
  NO_PARAMETERS,
  SCHEMA_EXAMPLE,
  toolExample,
} from "../../portal/src/screens/playground/draft.ts";
import { composeRequest } from "../../portal/src/screens/playground/request.ts";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { startGateway, type Tenant, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway;
let tenant: Tenant;
let folder: string;
/** The smallest picture there is, and a second of silence. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

beforeAll(async () => {
  gateway = await startGateway();
  tenant = await gateway.tenant();
  folder = mkdtempSync(path.join(tmpdir(), "code-export-"));
  symlinkSync(path.join(PROJECT_ROOT, "node_modules"), path.join(folder, "node_modules"));
  writeFileSync(path.join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(path.join(folder, "it's a dot.png"), Buffer.from(PIXEL, "base64"));
  writeFileSync(path.join(folder, "audio.wav"), silence());
  for (const [file, text] of Object.entries(STAND_INS)) writeFileSync(path.join(folder, file), text);
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

function silence(): Buffer {
  const samples = Buffer.alloc(16_000);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(16_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

const draft = (over: Partial<Draft>): Draft => ({
  ...NO_PARAMETERS,
  ...EMPTY_CONTENT,
  ...{ surface: "chat", model: "sandbox/chat", stream: false, turns: [] },
  ...over,
});

/** Signs that shells, JavaScript and Python each read in their own way. */
const AWKWARD = `It's "quoted", \`ticked\`, \${HOME} $HOME @@ \\n {braces} and ünïcode`;
const image = { name: "it's a dot.png", type: "image/png", base64: PIXEL };

const CASES: readonly (readonly [string, Partial<Draft>, RegExp])[] = [
  ["chat", { prompt: AWKWARD, system: "Be brief.", temperature: "0.2", max_tokens: "200" }, /ünïcode/],
  ["chat, streamed, with a picture", { prompt: AWKWARD, stream: true, attachments: [image] }, /ünïcode|image/i],
  [
    "chat, with a seed and stop sequences",
    { prompt: "Hello seed", seed: "7", stop: "END\\n\nSTOP", top_p: "0.5" },
    /seed/,
  ],
  ["messages, with a stop sequence", { surface: "messages", prompt: "Hello stop", stop: "END" }, /Hello stop/],
  ["chat with tools and a schema", { prompt: "Hi", tools: toolExample("chat"), schema: SCHEMA_EXAMPLE }, /answer/],
  [
    "messages",
    {
      surface: "messages",
      prompt: AWKWARD,
      turns: [
        { role: "user", text: "a" },
        { role: "assistant", text: "b" },
      ],
    },
    /ünïcode/,
  ],
  [
    "messages, streamed, with a picture",
    { surface: "messages", prompt: "Hello picture", stream: true, attachments: [image] },
    /picture/,
  ],
  ["responses", { surface: "responses", prompt: AWKWARD, system: "Be brief." }, /ünïcode/],
  [
    "responses, streamed",
    { surface: "responses", prompt: "Hello", stream: true, tools: toolExample("responses") },
    /Hello/,
  ],
  ["embeddings", { surface: "embeddings", model: "sandbox/embed", prompt: `one\n${AWKWARD}` }, /\d/],
  [
    "rerank",
    { surface: "rerank", model: "sandbox/rerank", instructions: AWKWARD, prompt: `one\n${AWKWARD}` },
    /relevance_score/,
  ],
  ["moderations", { surface: "moderations", model: "sandbox/moderate", prompt: AWKWARD }, /category_scores|flagged/],
  ["images", { surface: "images", model: "sandbox/paint", prompt: AWKWARD, size: "512x512" }, /b64_json|bytes in/],
  ["decisions", { surface: "decisions", model: "sandbox/decide" }, /billing|support/],
  ["transcription", { surface: "transcriptions", model: "sandbox/listen", language: "en", temperature: "0" }, /text/],
];

const run = (file: string, args: readonly string[]) =>
  new Promise<string>((resolve, reject) => {
    const env = { PATH: process.env["PATH"], HOME: "/nowhere", GATEWAY_KEY: tenant.key };
    execFile(file, args, { cwd: folder, env, timeout: 30_000 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stdout}${stderr}`)),
    );
  });

function code(over: Partial<Draft>): CodeSamples {
  const made = codeOf(draft(over), gateway.url, "audio.wav");
  if (made === undefined) throw new Error("no code");
  return made;
}

async function runScript(text: string): Promise<string> {
  const file = path.join(folder, "run.ts");
  writeFileSync(file, text);
  return run(process.execPath, ["--disable-warning=ExperimentalWarning", file]);
}

/** What Python programs import, as far as they say with it whom they call and with what. */
const CLIENT = `import json
class Client:
    def __init__(self, **given):
        self.given = given
    def __getattr__(self, name):
        return self
    def create(self, **body):
        body.pop("file", None)
        print(json.dumps({**self.given, "body": body}))
        raise SystemExit(0)
    generate = create
`;
const STAND_INS = {
  "openai.py": `${CLIENT}OpenAI = Client\n`,
  "anthropic.py": `${CLIENT}Anthropic = Client\n`,
  "httpx.py": `import json\ndef post(url, headers, json):\n    import json as text\n    print(text.dumps({"base_url": url, "api_key": headers["Authorization"].split()[1], "body": json}))\n    raise SystemExit(0)\n`,
};

/** What the playground itself would send. */
function bodyOf(over: Partial<Draft>): unknown {
  const composed = composeRequest(draft(over));
  if (composed.kind === "json") return composed.body;
  const fields = composed.kind === "form" ? composed.fields : [];
  return Object.fromEntries(fields.map(([name, value]) => [name, name === "temperature" ? Number(value) : value]));
}

async function runPython(text: string, over: Partial<Draft>): Promise<void> {
  writeFileSync(path.join(folder, "run.py"), text);
  const { surface = "chat" } = over;
  const at = { messages: "", decisions: "/v1/decisions", rerank: "/v1/rerank" }[String(surface)] ?? "/v1";
  expect(JSON.parse(await run("python3", ["run.py"]))).toEqual({
    ...{ base_url: `${gateway.url}${at}`, api_key: tenant.key, body: bodyOf(over) },
  });
}

describe("PORTAL-09 code that the playground writes", { timeout: 60_000 }, () => {
  test.each(CASES)("%s: curl and TypeScript run as they are, Python sends the same", async (_name, over, expected) => {
    const { curl, typescript, python } = code(over);
    for (const text of [curl, typescript, python]) {
      expect(text).not.toContain(tenant.key);
      expect(text).not.toContain(PIXEL);
    }
    expect(await run("bash", ["-c", curl.replace("curl ", "curl --fail-with-body -sS ")])).toMatch(expected);
    expect(await runScript(typescript)).toMatch(expected);
    await runPython(python, over);
  });

  test("speech: both write a file that is audio", async () => {
    const over = { surface: "speech", model: "sandbox/speak", voice: "ada", format: "wav", prompt: AWKWARD } as const;
    const { curl, typescript, python } = code(over);
    const speech = path.join(folder, "speech.wav");
    const isWave = () => readFileSync(speech).subarray(0, 4).toString() === "RIFF";
    await run("bash", ["-c", curl.replace("curl ", "curl --fail-with-body -sS ")]);
    expect(isWave()).toBe(true);
    rmSync(speech);
    await runScript(typescript);
    expect(isWave()).toBe(true);
    await runPython(python, over);
  });

  test("a picture reaches the gateway from the file that the code reads", async () => {
    const made = code({ prompt: "Hi", attachments: [image] });
    expect(made.curl).toContain("base64 -w0");
    expect(made.typescript).toContain(`readFileSync("it's a dot.png", "base64")`);
    expect(made.python).toContain(`"data:image/png;base64," + b64("it's a dot.png")`);
  });

  test("PORTAL-22 parameters and PDF files are sent in the format of each surface", () => {
    const pdf = { name: "plan.pdf", type: "application/pdf", base64: "JVBERi0=" };
    const over = { prompt: "Read", attachments: [pdf], stop: "END\\n\nSTOP", seed: "7" };
    const [url, stop] = ["data:application/pdf;base64,JVBERi0=", ["END\n", "STOP"]];
    const text = (type: string) => ({ type, text: "Read" });
    expect(bodyOf(over)).toEqual({
      ...{ model: "sandbox/chat", stop, seed: 7 },
      messages: [
        { role: "user", content: [text("text"), { type: "file", file: { filename: "plan.pdf", file_data: url } }] },
      ],
    });
    const source = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
    expect(bodyOf({ ...over, surface: "messages" })).toEqual({
      ...{ model: "sandbox/chat", max_tokens: 1024, stop_sequences: stop },
      messages: [{ role: "user", content: [{ type: "document", source, title: "plan.pdf" }, text("text")] }],
    });
    expect(bodyOf({ ...over, surface: "responses" })).toEqual({
      ...{ model: "sandbox/chat", store: false },
      input: [
        {
          role: "user",
          content: [text("input_text"), { type: "input_file", filename: "plan.pdf", file_data: url }],
        },
      ],
    });
    expect(code(over).python).toContain(`"data:application/pdf;base64," + b64("plan.pdf")`);
  });

  test("a draft that is not finished has no code", () => {
    expect(codeOf(draft({ prompt: "" }), gateway.url, "audio.wav")).toBeUndefined();
    expect(codeOf(draft({ prompt: "x", tools: "{" }), gateway.url, "audio.wav")).toBeUndefined();
    expect(codeOf(draft({ prompt: "x", model: "" }), gateway.url, "audio.wav")).toBeUndefined();
  });
});
