import { describe, expect, test } from "vitest";
import { type Module, moduleOf, readModules } from "./architecture/module-map.ts";
import { blank, type Import, importsOf, readSources, type Source } from "./architecture/source.ts";

const LINES_MAX = 500;
/** The composition root: files and folders that wire everything and belong to no module. */
const COMPOSITION_ROOT = [
  "src/cli.ts",
  "src/main.ts",
  "src/serve.ts",
  "src/node-agent.ts",
  "src/bootstrap",
  "src/settings",
];
const TOP_LAYER = 6;

const sources = readSources();
const modules = readModules();

function isIn(file: string, ...folders: string[]): boolean {
  return folders.some((folder) => file === folder || file.startsWith(`${folder}/`));
}

function layerOf(file: string): number {
  return isIn(file, ...COMPOSITION_ROOT) ? TOP_LAYER : (moduleOf(file, modules)?.layer ?? Number.NaN);
}

/** Why an import is not allowed; undefined when it is. */
function violation(from: string, { target, kind }: Pick<Import, "target" | "kind">): string | undefined {
  const [own, other] = [moduleOf(from, modules), moduleOf(target, modules)];
  if (own !== undefined && own === other) return undefined;
  if (isIn(target, "src/sandbox") && layerOf(from) < TOP_LAYER) return "only the composition root starts the sandbox";
  if (isIn(target, "src/settings") && layerOf(from) < TOP_LAYER) return "settings are passed in as values";
  if (layerOf(target) < layerOf(from)) return undefined;
  if (layerOf(from) === TOP_LAYER && layerOf(target) === TOP_LAYER) return undefined;
  const permission = other === undefined ? undefined : own?.sameLayerImports.get(other.folder);
  if (permission === "values" || (permission === "types" && kind === "types")) return undefined;
  return permission === "types"
    ? "only types may be imported from there"
    : "not a lower layer, and not listed in ARCHITECTURE.md";
}

function isOurs(target: string): boolean {
  return target.startsWith("src/");
}

describe("the module map", () => {
  test("every file belongs to a module of ARCHITECTURE.md or to the composition root", () => {
    const lost = sources.filter(({ file }) => Number.isNaN(layerOf(file)));
    expect(lost.map(({ file }) => file)).toEqual([]);
  });

  test("every module of ARCHITECTURE.md has code", () => {
    const empty = modules.filter((module) => !sources.some(({ file }) => moduleOf(file, modules) === module));
    expect(empty.map(({ folder }) => folder)).toEqual([]);
  });

  test("a listed import joins two modules of one layer and is used", () => {
    const wrong = modules.flatMap((module) =>
      [...module.sameLayerImports.keys()].filter(
        (to) => modules.find(({ folder }) => folder === to)?.layer !== module.layer,
      ),
    );
    expect(wrong).toEqual([]);
    expect(
      modules.flatMap((module) => [...module.sameLayerImports.keys()].filter((to) => !isUsed(module, to))),
    ).toEqual([]);
  });

  function isUsed(module: Module, to: string): boolean {
    return sources.some(
      ({ file, imports }) =>
        moduleOf(file, modules) === module && imports.some(({ target }) => moduleOf(target, modules)?.folder === to),
    );
  }
});

describe("imports", () => {
  test("go to a lower layer, or to a module listed in ARCHITECTURE.md", () => {
    const broken = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ target }) => isOurs(target))
        .flatMap((one) => {
          const why = violation(file, one);
          return why === undefined ? [] : [`${file} imports ${one.target}: ${why}`];
        }),
    );
    expect(broken).toEqual([]);
  });

  test("stay inside the product: not from tests, scripts or the benchmark", () => {
    const outside = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ target }) => /^(\.\.|tests\/|scripts\/|bench\/)/.test(target))
        .map(({ target }) => [file, target]),
    );
    expect(outside).toEqual([]);
  });

  test("form no cycle", () => {
    expect(findCycle(sources)).toBeUndefined();
  });
});

/** The files of the first import cycle, types included: a cycle of types is one concept split in two. */
function findCycle(all: readonly Source[]): string[] | undefined {
  const byFile = new Map(all.map((source) => [source.file, source]));
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): string[] | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const { target } of byFile.get(file)?.imports ?? []) {
      const cycle = walk(target, [...trail, file]);
      if (cycle !== undefined) return cycle;
    }
    done.add(file);
    return undefined;
  };
  for (const { file } of all) {
    const cycle = walk(file, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

describe("the portal", () => {
  const portal = readSources("portal/src");

  test("imports itself, packages, and from src only types of the contract", () => {
    expect(portal.length).toBeGreaterThan(0);
    const unexpected = portal.flatMap(({ file, imports }) =>
      imports
        .filter(({ target, kind }) => !target.startsWith("portal/") && !isPackage(target) && !isContract(target, kind))
        .map(({ target }) => `${file} imports ${target}`),
    );
    expect(unexpected).toEqual([]);
  });

  test("forms no cycle", () => {
    expect(findCycle(portal)).toBeUndefined();
  });

  test("is imported by nothing in src", () => {
    const importers = sources.filter(({ imports }) => imports.some(({ target }) => target.startsWith("portal/")));
    expect(importers.map(({ file }) => file)).toEqual([]);
  });

  test("calls the gateway only through its API client; the playground with a key, the guides for their index", () => {
    const callers = portal.filter(({ bare }) => /(?<![.\w])fetch\s*\(|\bnew\s+(?:WebSocket|EventSource)\b/.test(bare));
    expect(
      callers
        .map(({ file }) => file)
        .filter((file) => !isIn(file, "portal/src/api", "portal/src/screens/playground", "portal/src/guides")),
    ).toEqual([]);
  });

  test("renders text as text: no HTML from strings, no eval", () => {
    const risky = portal.filter(({ bare }) =>
      /dangerouslySetInnerHTML|\.innerHTML\b|\beval\s*\(|new\s+Function\b/.test(bare),
    );
    expect(risky.map(({ file }) => file)).toEqual([]);
  });

  function isPackage(target: string): boolean {
    return !target.startsWith("src/") && !target.startsWith("node:") && !target.includes("..");
  }

  function isContract(target: string, kind: Import["kind"]): boolean {
    return isIn(target, "src/contract") && kind === "types";
  }
});

describe("conventions", () => {
  test(`a file has at most ${LINES_MAX} lines`, () => {
    const long = sources.filter(({ lineCount }) => lineCount > LINES_MAX);
    expect(long.map(({ file, lineCount }) => `${file}: ${lineCount}`)).toEqual([]);
  });

  test("a file is named after its concept, in kebab-case", () => {
    const named = /\/(?!(?:utils?|helpers?|manager|service|misc|common)\.ts$)[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/;
    expect(sources.map(({ file }) => file).filter((file) => !named.test(file))).toEqual([]);
  });

  test("nothing is exported as default", () => {
    expect(sources.filter(({ bare }) => /\bexport\s+default\b/.test(bare)).map(({ file }) => file)).toEqual([]);
  });

  test("only the composition root reads the environment", () => {
    const readers = sources.filter(({ bare }) => /\bprocess\s*\.\s*env\b/.test(bare)).map(({ file }) => file);
    expect(readers.filter((file) => !isIn(file, ...COMPOSITION_ROOT, "src/cli"))).toEqual([]);
  });

  test("time and randomness are injected: only kit and the composition root read them from the system", () => {
    const taken = /\bDate\s*\.\s*now\b|\bnew\s+Date\s*\(\s*\)|\bMath\s*\.\s*random\b|\bperformance\s*\.\s*now\b/;
    const takers = sources.filter(({ bare }) => taken.test(bare)).map(({ file }) => file);
    expect(takers.filter((file) => !isIn(file, "src/kit", "src/cli", ...COMPOSITION_ROOT))).toEqual([]);
  });
});

describe("egress", () => {
  const OPENERS = [
    "undici",
    "pg",
    "nodemailer",
    "node:net",
    "node:tls",
    "node:http",
    "node:https",
    "node:http2",
    "node:dgram",
  ];
  /** Exports of those modules that inspect addresses and open nothing. */
  const HARMLESS = [
    "isIP",
    "isIPv4",
    "isIPv6",
    "BlockList",
    "SocketAddress",
    "LookupFunction",
    "STATUS_CODES",
    "METHODS",
  ];
  /** The node agent: it runs on a workspace's own machine and dials the gateway and its local server. */
  const AGENT = ["node-agent.ts", "local-server.ts", "connect-proxy.ts", "serve-stream.ts", "surface-probe.ts"].map(
    (file) => `src/io/tunnel/${file}`,
  );
  const MAY_OPEN = ["src/http1/client", "src/io/upstream", "src/sandbox", "src/cli", "src/cli.ts", ...AGENT];

  function opens({ target, kind, names }: Import): boolean {
    const isHarmless = names.length > 0 && names.every((name) => HARMLESS.includes(name));
    return kind === "values" && !isHarmless && OPENERS.some((one) => target === one || target.startsWith(`${one}/`));
  }

  test("only io/upstream and its HTTP client open connections, and the store its database; the edge only listens", () => {
    const openers = sources.flatMap(({ file, imports }) =>
      imports.filter(opens).map(({ target, names }) => ({ file, target, names })),
    );
    const unexpected = openers.filter(
      ({ file, target, names }) =>
        !isIn(file, ...MAY_OPEN) &&
        !(isIn(file, "src/io/store/sql/postgres") && target === "pg") &&
        // A worker's IPC pipe.
        !(file === "src/io/workers/ipc-channel.ts" && target === "node:net" && names.join() === "Socket") &&
        // HTTP/2 sessions on connections from nodes and between instances.
        !(isIn(file, "src/io/tunnel") && target === "node:http2"),
    );
    expect(unexpected).toEqual([]);
  });

  test("the gateway does not import node:http, which would load Node's fetch client at every start", () => {
    const importers = sources.filter(({ imports }) =>
      imports.some(({ target, kind }) => kind === "values" && target === "node:http"),
    );
    expect(importers.map(({ file }) => file).filter((file) => !AGENT.includes(file))).toEqual([]);
  });

  test("io/upstream opens connections only in known files: to providers, workspace-chosen addresses and mail", () => {
    const openers = sources.flatMap(({ file, imports }) =>
      imports
        .filter((one) => opens(one) && isIn(file, "src/http1", "src/io/upstream"))
        .map(({ target }) => `${file} ${target}`),
    );
    expect(openers.toSorted()).toEqual([
      "src/http1/client/dial.ts node:net",
      "src/http1/client/dial.ts node:tls",
      "src/io/upstream/smtp-mailer.ts nodemailer",
    ]);
  });

  test("the node:http exports taken without an import can listen but not dial, and only listeners use them", () => {
    const takers = sources.filter(({ code }) => /getBuiltinModule/.test(code)).map(({ file }) => file);
    expect(takers).toEqual(["src/kit/node-http.ts", "src/kit/release-memory.ts"]);
    const taken = sources.find(({ file }) => file === "src/kit/node-http.ts")?.code.trim();
    const names = /^export const \{ ([\w, ]+) \} =\s+process\.getBuiltinModule\("node:http"\);$/.exec(taken ?? "")?.[1];
    expect(names?.split(", ")).toEqual([
      "createServer",
      "Server",
      "ServerResponse",
      "STATUS_CODES",
      "validateHeaderName",
      "validateHeaderValue",
    ]);
    const users = sources.filter(({ imports }) => imports.some(({ target }) => target === "src/kit/node-http.ts"));
    expect(users.map(({ file }) => file)).toEqual([
      "src/edge/create-listener.ts",
      "src/edge/listener.ts",
      "src/edge/send-response.ts",
      "src/edge/streamed-body.ts",
      "src/http1/server/fast-path-response.ts",
      "src/sandbox/server.ts",
    ]);
  });

  test("one function of the C library is called, and it takes no pointer", () => {
    const callers = sources.filter(({ code }) => /node:ffi|dlopen/.test(code));
    expect(callers.map(({ file }) => file)).toEqual(["src/kit/release-memory.ts"]);
    expect(callers[0]?.code.match(/dlopen\([^)]*\)[^;]*/g)).toEqual([
      "dlopen(C_LIBRARY, { malloc_trim: signature }).functions.malloc_trim(0n)",
    ]);
    // Worker threads do not get the flag and would print a warning that it is experimental.
    const releasing = sources.filter(({ code }) => /releaseMemory/.test(code)).map(({ file }) => file);
    expect(releasing).toEqual(["src/kit/release-memory.ts", "src/serve.ts"]);
  });

  test("the node agent is started only by its command and is not part of the gateway", () => {
    const users = sources.flatMap(({ file, imports }) =>
      imports.filter(({ target, kind }) => kind === "values" && AGENT.includes(target)).map(() => file),
    );
    expect([...new Set(users)].filter((file) => !AGENT.includes(file))).toEqual(["src/cli/node-connect.ts"]);
  });

  test("no other module calls fetch or opens a WebSocket", () => {
    const calls = /(?<![.\w])fetch\s*\(|\bnew\s+(?:WebSocket|EventSource)\b|\bglobalThis\s*\.\s*fetch\b/;
    const callers = sources.filter(({ bare }) => calls.test(bare)).map(({ file }) => file);
    expect(callers.filter((file) => !isIn(file, ...MAY_OPEN))).toEqual([]);
  });
});

describe("the scanner itself", () => {
  test("sees imports of every form, and none in comments or strings", () => {
    const text = [
      'import { type A, b as c } from "./one.ts";',
      'import type { D } from "../two.ts";',
      'import { type E } from "three";',
      'export * from "./four.ts";',
      'import "./five.ts";',
      'const six = await import("./six.ts");',
      '// import { x } from "./comment.ts";',
      "const text = 'import(\"./string.ts\")';",
      "const pattern = /['\"`]/;",
      'import {\n  g,\n  h,\n} from "node:net";',
    ].join("\n");
    const { code, bare } = blank(text);
    expect(importsOf("src/kit/x.ts", code, bare)).toEqual([
      { target: "src/kit/one.ts", kind: "values", names: ["A", "b"] },
      { target: "src/two.ts", kind: "types", names: ["D"] },
      { target: "three", kind: "types", names: ["E"] },
      { target: "src/kit/four.ts", kind: "values", names: [] },
      { target: "node:net", kind: "values", names: ["g", "h"] },
      { target: "src/kit/five.ts", kind: "values", names: [] },
      { target: "src/kit/six.ts", kind: "values", names: [] },
    ]);
  });

  test("an import of a higher layer, beyond a types-only permission, or of the sandbox is reported", () => {
    const kind = "values";
    expect(violation("src/kit/x.ts", { target: "src/edge/server.ts", kind })).toBeDefined();
    expect(violation("src/domain/routing/x.ts", { target: "src/domain/admission/admission.ts", kind })).toBeDefined();
    expect(violation("src/app/pipeline/x.ts", { target: "src/sandbox/provider-profiles.ts", kind })).toBeDefined();
    expect(violation("src/edge/server.ts", { target: "src/kit/clock.ts", kind })).toBeUndefined();
  });
});
