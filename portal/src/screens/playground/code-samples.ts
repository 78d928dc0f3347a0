import type { Attachment, Draft, Surface } from "./draft.ts";
import { pathOf } from "./draft.ts";
import { pythonOf, scriptOf } from "./literals.ts";
import { type Body, composeRequest } from "./request.ts";

export type CodeSamples = { readonly curl: string; readonly typescript: string; readonly python: string };

/** Code reads attachments from files. Private-use characters mark their places in the body. */
const [MARK_START, MARK_END] = ["\uE000", "\uE001"];
const MARK = /\uE000([^\uE001]+)\uE001/g;
const markAttachment = ({ name, type }: Attachment) => `data:${type};base64,${MARK_START}${name}${MARK_END}`;

/** The draft as code. The key is read from the environment, so that the code can be shared. */
export function codeOf(draft: Draft, origin: string, fileName: string): CodeSamples | undefined {
  const composed = composeRequest(draft, markAttachment);
  if (composed.kind === "problem") return undefined;
  if (composed.kind === "form") return transcription(composed.fields, origin, fileName);
  const { body } = composed;
  return {
    curl: curl(draft.surface, body, origin),
    typescript: typescript(draft.surface, body, origin),
    python: python(draft.surface, body, origin),
  };
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function curl(surface: Surface, body: Body, origin: string): string {
  const json = JSON.stringify(body, null, 2);
  const out = surface === "speech" ? ` \\\n  -o speech.${String(body["response_format"])}` : "";
  const noBuffer = body["stream"] === true ? "-N " : "";
  const head = `curl ${noBuffer}${origin}${pathOf(surface)} \\\n  -H "Authorization: Bearer $GATEWAY_KEY" \\\n  -H "Content-Type: application/json"`;
  if (!json.includes(MARK_START)) return `${head} \\\n  -d ${quoted(json)}${out}`;
  // A here-document inlines the file; everything else is escaped from the shell.
  const safe = json.replace(/[\\$`]/g, "\\$&").replace(MARK, (_, name: string) => `$(base64 -w0 < ${quoted(name)})`);
  return `${head}${out} \\\n  -d @- <<JSON\n${safe}\nJSON`;
}

function typescript(surface: Surface, body: Body, origin: string): string {
  const literal = scriptOf(body, (text) =>
    text.includes(MARK_START)
      ? `\`${text.replace(/[\\`$]/g, "\\$&").replace(MARK, (_, name: string) => `\${readFileSync(${JSON.stringify(name)}, "base64")}`)}\``
      : undefined,
  );
  const reads = literal.includes("readFileSync(") ? 'import { readFileSync } from "node:fs";\n' : "";
  return `${reads}${TYPESCRIPT_TEMPLATES[surface](literal, body, origin)}\n`;
}

const openai = (origin: string) =>
  `import OpenAI from "openai";\n\nconst client = new OpenAI({ baseURL: "${origin}/v1", apiKey: process.env.GATEWAY_KEY });\n\n`;
const isStream = (body: Body) => body["stream"] === true;

type ScriptTemplate = (literal: string, body: Body, origin: string) => string;

const TYPESCRIPT_TEMPLATES: Readonly<Record<Surface, ScriptTemplate>> = {
  chat: (literal, body, origin) =>
    openai(origin) +
    (isStream(body)
      ? `const stream = await client.chat.completions.create(${literal});\nfor await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? "");`
      : `const answer = await client.chat.completions.create(${literal});\nconsole.log(answer.choices[0]?.message);`),
  messages: (literal, body, origin) =>
    `import Anthropic from "@anthropic-ai/sdk";\n\n// Base URL without /v1: the SDK adds it.\nconst client = new Anthropic({ baseURL: "${origin}", authToken: process.env.GATEWAY_KEY, apiKey: null });\n\n${
      isStream(body)
        ? `const stream = await client.messages.create(${literal});\nfor await (const event of stream) {\n  if (event.type === "content_block_delta" && event.delta.type === "text_delta") process.stdout.write(event.delta.text);\n}`
        : `const answer = await client.messages.create(${literal});\nconsole.log(answer.content);`
    }`,
  responses: (literal, body, origin) =>
    openai(origin) +
    (isStream(body)
      ? `const stream = await client.responses.create(${literal});\nfor await (const event of stream) {\n  if (event.type === "response.output_text.delta") process.stdout.write(event.delta);\n}`
      : `const answer = await client.responses.create(${literal});\nconsole.log(answer.output_text, answer.output);`),
  embeddings: (literal, _body, origin) =>
    `${openai(origin)}const answer = await client.embeddings.create(${literal});\nfor (const { embedding } of answer.data) console.log(embedding.length, embedding.slice(0, 4));`,
  moderations: (literal, _body, origin) =>
    `${openai(origin)}const answer = await client.moderations.create(${literal});\nconsole.log(answer.results);`,
  images: (literal, _body, origin) =>
    `import { writeFile } from "node:fs/promises";\n${openai(origin)}const answer = await client.images.generate(${literal});\nconst image = Buffer.from(answer.data?.[0]?.b64_json ?? "", "base64");\nawait writeFile("image.png", image);\nconsole.log(image.length, "bytes in image.png");`,
  rerank: (literal, _body, origin) => posted(literal, `${origin}/v1/rerank`, "results"),
  speech: (literal, body, origin) =>
    `import { writeFile } from "node:fs/promises";\n${openai(origin)}const answer = await client.audio.speech.create(${literal});\nawait writeFile("speech.${String(body["response_format"])}", Buffer.from(await answer.arrayBuffer()));`,
  transcriptions: () => "",
  decisions: (literal, _body, origin) => posted(literal, `${origin}/v1/decisions`, "answers"),
};

/** For surfaces without an official client. */
function posted(literal: string, url: string, shown: string): string {
  return `const answer = await fetch("${url}", {\n  method: "POST",\n  headers: { authorization: \`Bearer \${process.env.GATEWAY_KEY}\`, "content-type": "application/json" },\n  body: JSON.stringify(${indented(literal)}),\n});\nif (!answer.ok) throw new Error(await answer.text());\nconsole.log((await answer.json()).${shown});`;
}

const indented = (text: string) => text.replaceAll("\n", "\n  ");

function python(surface: Surface, body: Body, origin: string): string {
  const literal = (value: Body) => pythonOf(value, (text) => (text.includes(MARK_START) ? joinParts(text) : undefined));
  const script = PYTHON_TEMPLATES[surface](literal, body, origin);
  const reads = script.includes("b64(")
    ? 'import base64\nimport os\n\n\ndef b64(path):\n    with open(path, "rb") as file:\n        return base64.b64encode(file.read()).decode()\n\n\n'
    : "import os\n\n";
  return `${reads}${script}\n`;
}

/** `"data:image/png;base64," + b64("photo.png")`. */
function joinParts(text: string): string {
  // Splitting by a pattern with a group alternates between text and file names.
  const pieces = text
    .split(MARK)
    .map((piece, index) => (index % 2 === 0 ? JSON.stringify(piece) : `b64(${JSON.stringify(piece)})`));
  return pieces.filter((piece) => piece !== '""').join(" + ");
}

type PythonTemplate = (literal: (value: Body) => string, body: Body, origin: string) => string;
const pythonOpenai = (origin: string) =>
  `from openai import OpenAI\n\nclient = OpenAI(base_url="${origin}/v1", api_key=os.environ["GATEWAY_KEY"])\n\n`;

const PYTHON_TEMPLATES: Readonly<Record<Surface, PythonTemplate>> = {
  chat: (literal, body, origin) =>
    `${pythonOpenai(origin)}answer = client.chat.completions.create(**${literal(body)})\n${
      isStream(body)
        ? 'for chunk in answer:\n    if chunk.choices:\n        print(chunk.choices[0].delta.content or "", end="", flush=True)'
        : "print(answer.choices[0].message)"
    }`,
  messages: (literal, body, origin) =>
    `from anthropic import Anthropic\n\n# Base URL without /v1: the SDK adds it.\nclient = Anthropic(base_url="${origin}", api_key=os.environ["GATEWAY_KEY"])\n\nanswer = client.messages.create(**${literal(body)})\n${
      isStream(body)
        ? 'for event in answer:\n    if event.type == "content_block_delta" and event.delta.type == "text_delta":\n        print(event.delta.text, end="", flush=True)'
        : "print(answer.content)"
    }`,
  responses: (literal, body, origin) =>
    `${pythonOpenai(origin)}answer = client.responses.create(**${literal(body)})\n${
      isStream(body)
        ? 'for event in answer:\n    if event.type == "response.output_text.delta":\n        print(event.delta, end="", flush=True)'
        : "print(answer.output_text)"
    }`,
  embeddings: (literal, body, origin) =>
    `${pythonOpenai(origin)}answer = client.embeddings.create(**${literal(body)})\nfor row in answer.data:\n    print(len(row.embedding), row.embedding[:4])`,
  moderations: (literal, body, origin) =>
    `${pythonOpenai(origin)}answer = client.moderations.create(**${literal(body)})\nprint(answer.results)`,
  images: (literal, body, origin) =>
    `import base64\n${pythonOpenai(origin)}answer = client.images.generate(**${literal(body)})\nfor number, image in enumerate(answer.data):\n    with open(f"image-{number}.png", "wb") as file:\n        file.write(base64.b64decode(image.b64_json))`,
  rerank: (literal, body, origin) => pythonPosted(literal(body), `${origin}/v1/rerank`, "results"),
  speech: (literal, body, origin) =>
    `${pythonOpenai(origin)}with client.audio.speech.with_streaming_response.create(**${literal(body)}) as answer:\n    answer.stream_to_file("speech.${String(body["response_format"])}")`,
  transcriptions: () => "",
  decisions: (literal, body, origin) => pythonPosted(literal(body), `${origin}/v1/decisions`, "answers"),
};

function pythonPosted(literal: string, url: string, shown: string): string {
  return `import httpx\n\nanswer = httpx.post(\n    "${url}",\n    headers={"Authorization": f"Bearer {os.environ['GATEWAY_KEY']}"},\n    json=${literal.replaceAll("\n", "\n    ")},\n)\nanswer.raise_for_status()\nprint(answer.json()["${shown}"])`;
}

function transcription(fields: readonly (readonly [string, string])[], origin: string, fileName: string): CodeSamples {
  const form = fields.map(([name, value]) => ` \\\n  -F ${quoted(`${name}=${value}`)}`).join("");
  const typed = (value: string, name: string) => (name === "temperature" ? Number(value) : value);
  const body = Object.fromEntries(fields.map(([name, value]) => [name, typed(value, name)]));
  const name = JSON.stringify(fileName);
  const inner = (literal: string, first: string) => literal.replace(/^\{\n/, `{\n${first}\n`);
  return {
    curl: `curl ${origin}/v1/audio/transcriptions \\\n  -H "Authorization: Bearer $GATEWAY_KEY" \\\n  -F ${quoted(`file=@${fileName}`)}${form}`,
    typescript: `import { createReadStream } from "node:fs";\n${openai(origin)}const answer = await client.audio.transcriptions.create(${inner(
      scriptOf(body, () => undefined),
      `  file: createReadStream(${name}),`,
    )});\nconsole.log(answer);\n`,
    python: `import os\n\n${pythonOpenai(origin)}with open(${name}, "rb") as file:\n    answer = client.audio.transcriptions.create(file=file, **${pythonOf(body, () => undefined).replaceAll("\n", "\n    ")})\nprint(answer)\n`,
  };
}
