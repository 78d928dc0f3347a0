import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { generatedDocuments } from "../scripts/documents.ts";
import { apiDocumentText, llmsText, manageDocumentText } from "../src/contract/documents.ts";
import { FAULTS } from "../src/contract/faults.ts";
import { faultsOf } from "../src/contract/route-faults.ts";
import { PAGES_TAG } from "../src/contract/routes/operations.ts";
import { ROUTES } from "../src/contract/routes.ts";
import { LEVEL_MEANINGS } from "../src/domain/catalogue/levels.ts";
import { PARAMETERS } from "../src/language/canon/parameters.ts";
import { ALIASES, FIELDS as CHAT_FIELDS } from "../src/language/dialects/chat/fields.ts";
import { FIELD_TABLES } from "../src/language/dialects/field-tables.ts";
import { FIELDS as RESPONSES_FIELDS } from "../src/language/dialects/responses/fields.ts";
import { SETTINGS } from "../src/settings/config.ts";
import { SPECIFICATION } from "./support/recordings.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");
const deployment = { version: "0.0.0", serverUrl: "https://gateway.example.eu" };

describe("generated documents", () => {
  test.each([...generatedDocuments()])("GEN-02, OPS-05 %s is the output of `npm run docs`", (file, text) => {
    expect(existsSync(path.join(ROOT, file)), `${file} is missing: run npm run docs`).toBe(true);
    expect(read(file) === text, `${file} is out of date: run npm run docs`).toBe(true);
  });

  test("OPS-05 every setting and its _FILE variant are documented", () => {
    const page = read("docs/settings.md");
    expect(Object.keys(SETTINGS).filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
    expect(page).toContain("_FILE");
  });

  test("every error code is documented", () => {
    const page = read("docs/errors.md");
    expect(Object.keys(FAULTS).filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});

describe("the parameter table", () => {
  /** Rows of the page's or the specification's table: the parameter's names, then its four cells. */
  const rowsOf = (text: string) =>
    [...text.matchAll(/^\| `?([a-z_]+)`?(?: \(([^|]*)\))? \| (?!D1)(\S+) \| (\S+) \| (\S+) \| (\S+) \|$/gm)].map(
      ([, name = "", aliases = "", ...cells]) => ({ name, aliases: aliases.match(/[a-z]+_?[a-z_]*/g) ?? [], cells }),
    );
  const printed = rowsOf(read("docs/parameters.md"));

  test("PARAM-01 the page has every row once, with the dialect's actual handling in each cell", () => {
    expect(printed.map(({ name }) => name)).toEqual(PARAMETERS);
    const columns = Object.values(FIELD_TABLES).map(({ fields }) => fields);
    expect(printed.map(({ cells }) => cells)).toEqual(PARAMETERS.map((row) => columns.map((fields) => fields[row])));
    for (const [alias, row] of Object.entries(ALIASES)) {
      expect(printed.find(({ name }) => name === row)?.aliases, row).toContain(alias);
    }
  });

  test.skipIf(!existsSync(SPECIFICATION))("PARAM-01 the page is the specification's table, cell by cell", () => {
    const [, section = ""] = readFileSync(SPECIFICATION, "utf8").split("### Chat-surface request parameters");
    const specified = rowsOf(section.split("\n### ")[0] ?? "");
    expect(specified.length).toBeGreaterThan(0);
    // Rules of data classes came after the table.
    const inTable = printed.filter(({ name }) => name !== "data_classes" && name !== "cache");
    expect(inTable.map(({ name, cells }) => [name, ...cells])).toEqual(
      specified.map(({ name, cells }) => [name, ...cells]),
    );
    for (const { name, aliases } of specified) {
      const named = aliases.filter((word) => word !== "aliases");
      expect(printed.find((row) => row.name === name)?.aliases, name).toEqual(expect.arrayContaining(named));
    }
  });

  test("PARAM-01 through responses everything is as in D1, except what the page lists as refused", () => {
    const others = PARAMETERS.filter((row) => RESPONSES_FIELDS[row] !== CHAT_FIELDS[row]);
    const refused = ["stop", "seed", "logprobs", "top_logprobs", "presence_penalty", "frequency_penalty"];
    expect(others).toEqual([...refused, "logit_bias", "prediction"]);
    expect(new Set(others.map((row) => RESPONSES_FIELDS[row]))).toEqual(new Set(["400"]));
  });

  test("the README links to it", () => {
    expect(read("README.md")).toContain("(docs/parameters.md)");
  });
});

type Operation = {
  operationId: string;
  security: object[];
  parameters?: { name: string; in: string }[];
  requestBody?: { required: boolean; content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<
    string,
    { $ref?: string; headers?: object; content?: Record<string, { schema: object; example?: unknown }> }
  >;
};
type Document = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object>; responses: Record<string, Operation["responses"][string]> };
};

/** An empty alternative makes the key optional. */
function needsKey(security: readonly object[] = []): boolean {
  return security.length > 0 && security.every((scheme) => Object.keys(scheme).length > 0);
}

describe.each([
  ["api", apiDocumentText(deployment)],
  ["manage", manageDocumentText(deployment)],
] as const)("the OpenAPI document: %s", (kind, text) => {
  const document: Document = JSON.parse(text);
  const operations = Object.entries(document.paths).flatMap(([at, item]) =>
    Object.entries(item)
      .filter(([method]) => method !== "servers")
      .map(([method, operation]) => ({ at, method, operation })),
  );
  const shown = ROUTES.filter(
    ({ path: at, tag }) => tag !== PAGES_TAG && at.startsWith("/manage") === (kind === "manage"),
  );

  test("GEN-02 has every route of its kind, once, with its security", () => {
    expect(document.openapi).toBe("3.1.0");
    expect(operations.map(({ operation }) => operation.operationId)).toEqual(shown.map(({ id }) => id));
    for (const { operation } of operations) {
      const by = shown.find(({ id }) => id === operation.operationId)?.access.by;
      expect(needsKey(operation.security), operation.operationId).toBe(by !== "anyone");
    }
  });

  test("GEN-02 has every path parameter, and every error status of its route", () => {
    for (const { at, operation } of operations) {
      const named = (operation.parameters ?? []).filter((one) => one.in === "path").map(({ name }) => name);
      expect(named).toEqual([...at.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
      const route = shown.find(({ id }) => id === operation.operationId);
      const statuses = route === undefined ? [] : faultsOf(route).map((code) => String(FAULTS[code].status));
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(statuses));
    }
  });

  test("GEN-02 every reference resolves", () => {
    const refs = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map(([, to = ""]) => to);
    const find = (to: string) => to.split("/").reduce<unknown>((at, name) => Reflect.get(Object(at), name), document);
    expect([...new Set(refs)].filter((to) => find(to) === undefined)).toEqual([]);
  });

  test("GEN-02 every example matches its schema", () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: "doc", components: document.components });
    const examples = operations.flatMap(({ operation }) => [
      ...Object.values(operation.requestBody?.content ?? {}),
      ...Object.values(operation.responses).flatMap(({ content = {} }) => Object.values(content)),
    ]);
    const shared = Object.values(document.components.responses).flatMap(({ content = {} }) => Object.values(content));
    for (const { schema, example } of [...examples, ...shared]) {
      const here = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"doc#/components'));
      const validate = ajv.compile(here);
      if (example !== undefined) expect(validate(example), JSON.stringify(validate.errors)).toBe(true);
    }
  });

  test("GEN-02 every operation with a body has an example", () => {
    const bare = operations.filter(({ operation }) =>
      Object.values(operation.requestBody?.content ?? {}).some(({ example }) => example === undefined),
    );
    expect(bare.map(({ operation }) => operation.operationId)).toEqual([]);
  });
});

test("GEN-02 stored responses have the paths of the specification, and examples of their responses", () => {
  const { paths }: Document = JSON.parse(apiDocumentText(deployment));
  const stored = Object.keys(paths).filter((at) => at.startsWith("/responses/"));
  expect(stored.toSorted()).toEqual([
    "/responses/{response_id}",
    "/responses/{response_id}/cancel",
    "/responses/{response_id}/input_items",
  ]);
  for (const { operationId, responses } of stored.flatMap((at) => Object.values(paths[at] ?? {})))
    expect(responses["200"]?.content?.["application/json"]?.example, operationId).toBeDefined();
});

describe("response headers in the OpenAPI document", () => {
  const document: Document = JSON.parse(apiDocumentText(deployment));
  const responseHeaders = (at: string) => Object.keys(document.paths[at]?.["post"]?.responses["200"]?.headers ?? {});
  const own = (at: string) => responseHeaders(at).filter((name) => name.startsWith("X-Svc-"));
  const SERVED = ["Request-Id", "Model", "Provider", "Sovereignty-Level", "Compute-Countries", "Omitted"];
  const svc = (names: readonly string[]) => names.map((name) => `X-Svc-${name}`).sort();

  test.each(["/chat/completions", "/messages", "/responses"])("HDR-02 GEN-02 every header of %s", (at) => {
    const chat = [
      "Route-Reason",
      "Router",
      "Served-By",
      "Node-Id",
      "Upstream-Surface",
      "Overhead-Ms",
      "Data-Classes",
      "Data-Action",
      "Cache",
    ];
    const reasoning = ["Reasoning-Effort", "Reasoning-Chosen-By"];
    expect(own(at).sort()).toEqual(svc([...SERVED, ...chat, ...reasoning]));
    expect(responseHeaders(at)).toContain("Idempotent-Replayed");
  });

  test("DEC-14 TTS-10 HDR-20 GEN-02 decisions and speech: exactly their lists", () => {
    expect(own("/decisions").sort()).toEqual(svc(SERVED));
    expect(own("/audio/speech").sort()).toEqual(svc([...SERVED, "Compute-Country", "Input-Characters"]));
  });

  test("HDR-05 GEN-02 nodes are named on the surfaces they serve, and nowhere else", () => {
    const named = Object.keys(document.paths).filter((at) => responseHeaders(at).includes("X-Svc-Node-Id"));
    const gemini = ["generateContent", "streamGenerateContent", "embedContent", "batchEmbedContents"];
    expect(named).toEqual([
      "/chat/completions",
      "/messages",
      "/responses",
      ...gemini.map((operation) => `/v1beta/models/{model}:${operation}`),
      "/embeddings",
      "/rerank",
      "/v2/rerank",
      "/moderations",
      "/images/generations",
      "/images/edits",
      "/images/variations",
    ]);
  });

  test("GEN-02 every response has its id, and every one to a key its rate limit state", () => {
    for (const [at, item] of Object.entries(document.paths))
      for (const { operationId, responses, security } of Object.values(item).filter(({ responses }) => responses)) {
        const [good] = Object.values(responses);
        expect(Object.keys(good?.headers ?? {}), at).toContain("X-Svc-Request-Id");
        expect("X-RateLimit-Limit" in (good?.headers ?? {}), operationId).toBe(needsKey(security));
      }
  });

  test("CHAT-01 streams that end with [DONE] are described so, and no others", () => {
    const ends = Object.entries(document.paths).filter(([, { post }]) => /\[DONE\]/.test(JSON.stringify(post ?? {})));
    expect(ends.map(([at]) => at)).toEqual(["/chat/completions", "/audio/transcriptions"]);
  });

  test("HDR-07 GEN-02 X-Title is a header of every call that is charged", () => {
    const charged = Object.values(document.paths)
      .flatMap((item) => Object.values(item))
      .filter(({ parameters = [] }) => parameters.some(({ name }) => name === "Idempotency-Key"));
    expect(charged.length).toBeGreaterThan(6);
    for (const { parameters = [] } of charged) expect(parameters.map(({ name }) => name)).toContain("X-Title");
  });
});

describe("responses in the OpenAPI document", () => {
  const api: Document = JSON.parse(apiDocumentText(deployment));
  const manage: Document = JSON.parse(manageDocumentText(deployment));

  test("GEN-02 an idempotent replay has its own response, except for speech and decisions", () => {
    const replayed = Object.entries(api.paths).filter(([, { post }]) =>
      JSON.stringify(post?.responses["200"]?.content ?? {}).includes("#/components/schemas/IdempotentReplay"),
    );
    const charged = [
      "/chat/completions",
      "/messages",
      "/responses",
      "/embeddings",
      "/rerank",
      "/v2/rerank",
      "/moderations",
      "/images/generations",
      "/images/edits",
      "/images/variations",
    ];
    expect(replayed.map(([at]) => at)).toEqual([...charged, "/audio/transcriptions"]);
  });

  test("PUB-01 operations with an ETag describe it, and 304", () => {
    const tagged = Object.entries(api.paths).filter(([, { get }]) => get?.responses["304"] !== undefined);
    expect(tagged.map(([at]) => at).sort()).toEqual(
      Object.keys(api.paths)
        .filter((at) => /^(\/v1beta)?\/models[^:]*$/.test(at) || at.startsWith("/public/"))
        .filter((at) => at !== "/public/status")
        .sort(),
    );
  });

  test("GEN-02 an optional body is not required", () => {
    const optional = Object.values(manage.paths)
      .flatMap((item) => Object.values(item))
      .filter(({ requestBody }) => requestBody?.required === false);
    expect(optional.map(({ operationId }) => operationId).sort()).toEqual([
      "manageCloseCapture",
      "manageIssuePlaygroundKey",
      "manageReplayRouter",
      "manageRotateKey",
      "manageRunProbes",
      "manageTestProvider",
      "peopleAcceptInvitation",
    ]);
  });
});

describe("llms.txt", () => {
  test("GEN-03 names the base URL, the key and every endpoint of the API", () => {
    const text = llmsText(deployment);
    expect(text).toContain("https://gateway.example.eu/v1");
    expect(text).toContain("Authorization: Bearer");
    const api = ROUTES.filter(({ path: at }) => at.startsWith("/v1/"));
    expect(api.filter(({ method, path: at }) => !text.includes(`${method} ${at.replaceAll("+}", "}")}`))).toEqual([]);
  });
});

describe("hand-written documents", () => {
  const pages = [
    ...["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"],
    ...readdirSync(path.join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `docs/${name}`),
  ];

  test("OPS-02 the metrics page names every metric, and none that does not exist", () => {
    const namesIn = (text: string) => [...new Set(text.match(/\bgateway_[a-z_]+\b/g))].sort();
    const sources = ["metrics", "request-series"].map((name) => read(`src/io/telemetry/${name}.ts`));
    expect(namesIn(read("docs/metrics.md"))).toEqual(namesIn(sources.join("\n")));
  });

  test.each(pages)("%s: its links point to existing files", (page) => {
    const targets = [...read(page).matchAll(/(?:\]\(|src=")([^)#"\s]+)/g)].map(([, to = ""]) => to);
    const broken = targets.filter(
      (to) => !/^[a-z]+:/.test(to) && !existsSync(path.join(ROOT, path.dirname(page), decodeURIComponent(to))),
    );
    expect(broken).toEqual([]);
  });

  test("PUB-04 the guide on routing describes the levels as the catalogue does", () => {
    const rows = LEVEL_MEANINGS.map(({ level, meaning, needs }) => `| \`${level}\` | ${meaning} | ${needs} |`);
    expect(read("docs/guides/routing.md")).toContain(rows.join("\n"));
  });

  test("the list of decisions has every page, by number and title", () => {
    const names = readdirSync(path.join(ROOT, "docs/decisions"))
      .filter((name) => /^\d/.test(name))
      .sort();
    const lines = names.map((name) => {
      const [head = ""] = read(`docs/decisions/${name}`).split("\n");
      const number = name.slice(0, 4);
      return `| [${number}](${name}) | ${head.slice(`# ${number}: `.length)} |`;
    });
    expect(read("docs/decisions/README.md")).toContain(lines.join("\n"));
  });

  /** Anchors of headings, as forges generate them. */
  const anchorOf = (heading: string) =>
    heading
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");

  test.each(pages)("%s: its links point to existing headings", (page) => {
    const links = [...read(page).matchAll(/\]\(([^)#\s:]*)#([^)\s]+)\)/g)];
    const broken = links.filter(([, to = "", anchor = ""]) => {
      const text = read(to === "" ? page : path.join(path.dirname(page), to));
      return ![...text.matchAll(/^#+ (.*)$/gm)].some(([, heading = ""]) => anchorOf(heading) === anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  const guides = pages.filter((page) => /^docs\/(?:guides|clients)\//.test(page));

  /** Second-level sections and the commands in their shell blocks, which may be indented in a list. */
  function sectionsOf(page: string): { heading: string; commands: string[] }[] {
    const sections: { heading: string; commands: string[] }[] = [];
    let language: string | undefined;
    for (const line of read(page).split("\n")) {
      const fence = /^ *```(\w*)/.exec(line);
      if (fence) language = language === undefined ? (fence[1] ?? "") : undefined;
      else if (language === undefined && line.startsWith("## "))
        sections.push({ heading: line.slice("## ".length), commands: [] });
      else if (language === "sh" && !/^\s*(?:#|$)/.test(line)) sections.at(-1)?.commands.push(line);
    }
    return sections;
  }

  /** Links to the other sections: nothing to run. */
  const CONTENTS = "Contents";

  test.each(guides)("%s: every section has a command to run", (page) => {
    const bare = sectionsOf(page).filter(({ heading, commands }) => heading !== CONTENTS && commands.length === 0);
    expect(bare.map(({ heading }) => heading)).toEqual([]);
  });

  test.each(guides)("%s: above 250 lines it has a table of contents with every section", (page) => {
    const [, contents] = /^## Contents\n(.*?)^## /ms.exec(read(page)) ?? [];
    if (contents === undefined) return expect(read(page).split("\n").length).toBeLessThanOrEqual(250);
    const listed = [...contents.matchAll(/^- .*?\]\(#([^)]+)\)/gm)].map(([, anchor = ""]) => anchor);
    const headings = sectionsOf(page).map(({ heading }) => heading);
    expect(listed).toEqual(headings.filter((heading) => heading !== CONTENTS).map(anchorOf));
  });

  test.each(pages)("%s: the npm scripts it names exist", (page) => {
    const { scripts } = JSON.parse(read("package.json"));
    const named = [...read(page).matchAll(/npm run ([a-z:-]+)/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
