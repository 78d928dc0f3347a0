import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { buildProgram } from "../../src/cli/program.ts";
import { ROUTES } from "../../src/contract/routes.ts";
import { PROJECT_ROOT, SETTINGS } from "../../src/settings/config.ts";
import { quietShell } from "../support/shell.ts";

/** Everything that an operator copies or reads: every name in it must exist. */
const FILES = ["deploy", "docs/guides", "docs/clients"].flatMap((folder) =>
  readdirSync(path.join(PROJECT_ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(PROJECT_ROOT, path.join(entry.parentPath, entry.name))),
);
const GUIDES = ["README.md", ...FILES.filter((file) => file.endsWith(".md"))];
const read = (file: string) => readFileSync(path.join(PROJECT_ROOT, file), "utf8");

describe("names in charts, units, examples and guides exist", () => {
  /** Of the command line only: they are in its code. */
  const ofCommands = ["GATEWAY_URL", "GATEWAY_KEY", "GATEWAY_KEY_FILE", "GATEWAY_NODE_TOKEN"];
  const aws = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
  const settings = new Set([...Object.keys(SETTINGS), ...aws].flatMap((name) => [name, `${name}_FILE`]));
  const provider =
    /^PROVIDER_(?:<SLUG>|[A-Z0-9_]+?)(?:__(?:<REGION>|[A-Z0-9_]+))?_(?:(?:API_KEY|BASE_URL)(?:_FILE)?|CREDENTIALS_FILE)?$/;

  test("OPS-05 the command line reads its documented variables", () => {
    const code = readdirSync(path.join(PROJECT_ROOT, "src/cli"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".ts"))
      .map((name) => read(path.join("src/cli", name)))
      .join("\n");
    expect(ofCommands.filter((name) => !code.includes(`"${name}"`))).toEqual([]);
  });

  test.each(FILES)("OPS-05 %s: settings", (file) => {
    const named = read(file).match(
      /(?<![A-Z0-9_$])(?:GATEWAY|PROVIDER|OTEL|AWS|DATABASE|REDIS|LOG|DATA)_[A-Z0-9_<>]+/g,
    );
    const unknown = [...new Set(named)].filter(
      (name) => !settings.has(name) && !ofCommands.includes(name) && !provider.test(name),
    );
    expect(unknown).toEqual([]);
  });

  test("OPS-05 every file with a database URL has a setting for the table owner", () => {
    // Templates only ask whether it is set.
    const own = FILES.filter((file) => file.startsWith("deploy/") && !file.includes("/templates/"));
    const setting = own.filter((file) => /DATABASE_URL\b/.test(read(file)));
    expect(setting.length).toBeGreaterThan(3);
    expect(setting.filter((file) => !read(file).includes("DATABASE_MIGRATION_URL"))).toEqual([]);
  });

  test("OPS-05 every setting is in a guide or an example, not only in the reference", () => {
    const documented = FILES.map(read).join("\n");
    expect(Object.keys(SETTINGS).filter((name) => !documented.includes(name))).toEqual([]);
  });

  test.each(FILES)("OPS-02 %s: metrics", (file) => {
    const known = new Set(read("docs/metrics.md").match(/\bgateway_[a-z_]+\b/g));
    const named = read(file).match(/\bgateway_[a-z_]+(?:_total|_seconds|_bytes|_records|_info|_unproven)\b/g) ?? [];
    expect(named.filter((name) => !known.has(name) && !known.has(name.replace(/_(?:bucket|sum|count)$/, "")))).toEqual(
      [],
    );
  });

  /** Of the telemetry receiver. */
  const OTLP = ["/v1/traces", "/v1/metrics", "/v1/logs"];

  /** A path of a guide with its values is a route, or the beginning of one, as in "everything below /manage". */
  const isRoute = (named: string) => {
    const words = named.replace(/\/$/, "").split("/");
    return ROUTES.some(({ path: route }) => {
      const parts = route.split("/");
      const isRest = parts.at(-1)?.endsWith("+}") === true;
      if (words.length > parts.length && !isRest) return false;
      return words.every((word, at) => {
        const part = parts[at] ?? parts.at(-1) ?? "";
        return part === word || part.startsWith("{");
      });
    });
  };

  test.each(FILES)("%s: paths of the gateway", (file) => {
    const text = read(file).replace(/https?:\/\/(?!127\.0\.0\.1:8080|gateway\.example\.eu|\$)[^\s"'`)]+/g, "");
    const named = text.match(
      /(?<![\w/.}-])\/(?:healthz|readyz|metrics|manage|nodes\/connect|v1)(?:\/[\w{}-]+)*(?![\w/…-])/g,
    );
    expect([...new Set(named)].filter((one) => !isRoute(one) && !OTLP.includes(one))).toEqual([]);
  });

  test.each(FILES)("%s: files of the project", (file) => {
    const named = read(file).match(/(?<![\w/.-])(?:deploy|docs|scripts|bin|src|catalogue)\/[\w./-]*\w(?![\w/<{…*-])/g);
    const missing = [...new Set(named)].filter((one) => !existsSync(path.join(PROJECT_ROOT, one)));
    expect(
      missing.filter((one) => !/^(?:bin\/node$|docs\/(?:api|manage)|catalogue\/\w+\/acme|src\/[\w/]*acme)/.test(one)),
    ).toEqual([]);
  });
});

describe("commands", () => {
  const program = buildProgram("0.0.0", quietShell().shell, () => {});
  const commands = new Map(
    program.commands.flatMap((group) =>
      group.commands.length === 0
        ? [[group.name(), group] as const]
        : group.commands.map((command) => [`${group.name()} ${command.name()}`, command] as const),
    ),
  );
  const groups = new Set(program.commands.map((group) => group.name()));
  /** A group name alone refers to all its commands. */
  const isCommand = (words: readonly string[]) =>
    commands.has(words[0] ?? "") ||
    commands.has(words.slice(0, 2).join(" ")) ||
    (words.length === 1 && groups.has(words[0] ?? ""));

  const SHELLS: ReadonlySet<string> = new Set(["", "sh", "bash", "shell"]);

  /** Code: a line of a block, or text between backticks. */
  function calls(text: string): string[] {
    const blocks = [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, language = "", code = ""]) =>
      SHELLS.has(language) ? code.replaceAll("\\\n", " ").split(/\n|\|\||&&|[;|](?=\s)/) : [],
    );
    const inline = [...text.replace(/^```.*?^```/gms, "").matchAll(/`((?:bin\/)?gateway [^`\n]+)`/g)].map(
      ([, code = ""]) => code,
    );
    return [...blocks, ...inline].flatMap((line) => {
      const call = /(?:^|\s|\/)gateway ((?:--json )?[a-z].*)/.exec(line.replace(/#.*$/, "").trim());
      const isCall = /(?:^|bin\/|-- \/app\/bin\/|\$\()gateway /.test(line.trim()) || /exec .*gateway /.test(line);
      return call?.[1] !== undefined && isCall ? [call[1].replace(/^--json /, "")] : [];
    });
  }

  test.each(GUIDES)("%s: its commands and their flags exist", (file) => {
    const wrong = calls(read(file)).flatMap((call) => {
      const words = call.split(/\s+/);
      if (!isCommand(words)) return [`gateway ${call}`];
      const command = commands.get(words.slice(0, 2).join(" ")) ?? commands.get(words[0] ?? "");
      const flags = new Set([...(command?.options ?? []), ...program.options].map(({ long }) => long));
      const named = (call.match(/(?<=\s)--[a-z-]+/g) ?? []).filter((flag) => flag !== "--help");
      return named.filter((flag) => !flags.has(flag)).map((flag) => `gateway ${call}: ${flag}`);
    });
    expect(wrong).toEqual([]);
  });

  test("every command and every flag is in a guide", () => {
    const documented = GUIDES.map(read).join("\n");
    const undocumented = [...commands].flatMap(([name, { options }]) => [
      ...(documented.includes(name) ? [] : [name]),
      ...options.filter(({ long }) => !documented.includes(long ?? "")).map(({ long }) => `${name} ${long}`),
    ]);
    expect(undocumented).toEqual([]);
  });
});
