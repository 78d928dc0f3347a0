import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { blank } from "./architecture/source.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const TITLE_LENGTH_MAX = 120;

/** Several tests search the same files. */
const contents = new Map<string, string>();
const parts = new Map<string, ReturnType<typeof blank>>();

const glossary = read("docs/glossary.md");

function read(file: string): string {
  const text = contents.get(file) ?? readFileSync(path.join(ROOT, file), "utf8");
  contents.set(file, text);
  return text;
}

function partsOf(file: string): ReturnType<typeof blank> {
  const found = parts.get(file) ?? blank(read(file));
  parts.set(file, found);
  return found;
}

function filesIn(folder: string, pattern: RegExp): string[] {
  return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((file) => pattern.test(file) && !/(^|\/)(dist|node_modules|\.work)\//.test(file))
    .map((file) => path.posix.join(folder, file));
}

/** Code cells of a table's columns: the rows below the heading, up to the next heading. */
function tableRows(heading: string): string[][] {
  const [, section = ""] = glossary.split(`\n## ${heading}\n`);
  const [body = ""] = section.split("\n## ");
  return body
    .split("\n")
    .filter((line) => /^\| `/.test(line))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

const codeIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);

const bannedIdentifierWords = new Set(tableRows("Banned in names").flatMap(([words]) => codeIn(words)));
const bannedPhrases = tableRows("Banned in prose").flatMap(([phrases]) => codeIn(phrases));
const bannedMessagePhrases = tableRows("Banned in messages").flatMap(([phrases]) => codeIn(phrases));
const exemptTexts = new Set(tableRows("Exempt texts").flatMap(([texts]) => codeIn(texts)));
const exemptNames = new Set(tableRows("Exempt names").flatMap(([names]) => codeIn(names)));

const code = [
  ...filesIn("src", /(?<!\.test)\.ts$/),
  ...filesIn("bench", /\.ts$/),
  ...filesIn("scripts", /\.(ts|mjs)$/),
];
const portalCode = [...filesIn("portal/src", /(?<!\.gen)\.tsx?$/), "portal/vite.config.ts"];
// This file names the banned words itself.
const testCode = filesIn("tests", /\.ts$/).filter((file) => file !== "tests/vocabulary.test.ts");
const testFiles = [
  ...["src", "portal/src"].flatMap((folder) => filesIn(folder, /(\.test|-suite)\.ts$/)),
  ...testCode.filter((file) => /(\.test|-suite)\.ts$/.test(file)),
];
const documents = [
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "portal/README.md",
  "tests/simulation/README.md",
  ...filesIn("src", /\.md$/),
  // The glossary names the banned words.
  ...filesIn("docs", /\.md$/).filter((file) => file !== "docs/glossary.md"),
];

function phrasePattern(phrases: readonly string[]): RegExp {
  return new RegExp(`(?<![\\w-])(?:${phrases.join("|").replace(/ /g, "\\s+")})(?![\\w-])`, "i");
}

/** Lines of comments, with everything else blanked. */
function comments(file: string): string[] {
  return partsOf(file).comments.split("\n");
}

/** Strings and templates, with everything else blanked. A control character ends a string: phrases never span two. */
function texts(file: string): string {
  return partsOf(file).strings.replace(/\s+/g, " ");
}

/** `circuitState`, `CIRCUIT_STATE` and `circuit-state` are the words circuit and state. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
}

/** An exemption is a name, or a name in one file: `src/a.ts: name`. */
function bannedWordsIn(name: string, file = ""): string[] {
  if (exemptNames.has(name) || exemptNames.has(`${file}: ${name}`)) return [];
  return wordsOf(name).filter((word) => bannedIdentifierWords.has(word));
}

describe("the glossary", () => {
  test("defines at least 120 terms, each once, and bans words and phrases", () => {
    const terms = [...glossary.matchAll(/^\| \*\*([^*]+)\*\* \| \S/gm)].map(([, term = ""]) => term);
    expect(terms.length).toBeGreaterThanOrEqual(120);
    expect(terms.filter((term, index) => terms.indexOf(term) !== index)).toEqual([]);
    expect(bannedIdentifierWords.size).toBeGreaterThan(30);
    expect(bannedPhrases.length).toBeGreaterThan(20);
  });

  test("the scanner finds banned words in names of every form", () => {
    expect(bannedWordsIn("whoeverAsks")).toEqual(["whoever"]);
    expect(bannedWordsIn("WHOEVER_ASKS")).toEqual(["whoever"]);
    expect(bannedWordsIn("circuitState")).toEqual([]);
  });
});

describe("names", () => {
  test("no identifier contains a banned word", () => {
    const found = new Set<string>();
    for (const file of [...code, ...portalCode, ...testCode]) {
      for (const [name] of partsOf(file).bare.matchAll(/[A-Za-z_$][\w$]*/g))
        if (bannedWordsIn(name, file).length > 0) found.add(`${file}: ${name}`);
    }
    expect([...found]).toEqual([]);
  });

  test("no file or folder name contains a banned word", () => {
    const paths = [...code, ...portalCode, ...testCode, ...documents];
    expect(paths.filter((file) => file.split("/").some((part) => bannedWordsIn(part).length > 0))).toEqual([]);
  });

  test("an exported type name has one meaning in src; only parallel dialect files share names", () => {
    const files = new Map<string, string[]>();
    for (const file of filesIn("src", /(?<!\.test)\.ts$/).filter((one) => !one.startsWith("src/language/dialects/"))) {
      for (const [, name = ""] of read(file).matchAll(/^export (?:abstract )?(?:type|interface|class) (\w+)/gm))
        files.set(name, [...(files.get(name) ?? []), file]);
    }
    expect([...files].filter(([, list]) => list.length > 1)).toEqual([]);
  });

  test("a type is not a bare participle or pronoun", () => {
    const bare = new Set(codeIn(tableRows("Not a type name")[0]?.[0]));
    expect(bare.size).toBeGreaterThan(15);
    const found = [...code, ...portalCode, ...testCode].flatMap((file) =>
      [...read(file).matchAll(/^(?:export )?(?:abstract )?(?:type|interface|class) (\w+)/gm)]
        .filter(([, name = ""]) => bare.has(name))
        .map(([, name]) => `${file}: ${name}`),
    );
    expect(found).toEqual([]);
  });

  test('two-valued "yes" | "no" unions are booleans', () => {
    // Catalogue facts that may be unknown are real states.
    const union = /(?<!OrUnknown<)(?:"no"\s*\|\s*"yes"|"yes"\s*\|\s*"no")(?!\s*\|)/;
    expect([...code, ...portalCode, ...testCode].filter((file) => union.test(read(file)))).toEqual([]);
  });
});

describe("prose", () => {
  const lines = [
    ...[...filesIn("src", /(?<!\.test)\.ts$/), ...testCode].map((file) => [file, comments(file)] as const),
    ...documents.map((file) => [file, read(file).split("\n")] as const),
    // Help and output of the command line.
    ...filesIn("src/cli", /(?<!\.test)\.ts$/).map((file) => [file, read(file).split("\n")] as const),
  ];

  // One pass for all phrases: the single ones are then searched in few lines.
  const anyPhrase = phrasePattern(bannedPhrases);
  const suspects = lines.flatMap(([file, text]) =>
    text.flatMap((line, index) => (anyPhrase.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
  );

  test.each(bannedPhrases)("“%s” occurs in no comment, document or command", (phrase) => {
    expect(suspects.filter((line) => phrasePattern([phrase]).test(line))).toEqual([]);
  });
});

describe("messages", () => {
  const phrases = [...bannedPhrases, ...bannedMessagePhrases];
  const anyPhrase = phrasePattern(phrases);
  const suspects = [...filesIn("src", /(?<!\.test|-suite)\.ts$/), "bin/gateway"]
    .map((file) => [file, texts(file)] as const)
    .filter(([, text]) => anyPhrase.test(text));

  test("error messages, API descriptions, emails and command output are among the searched texts", () => {
    const found = (file: string, phrase: string) => phrasePattern([phrase]).test(texts(file));
    expect(found("src/contract/faults.ts", "does not cover this request")).toBe(true);
    expect(found("src/contract/openapi.ts", "One base URL for many models")).toBe(true);
    expect(found("src/app/accounts/invitations.ts", "You have been invited to the workspace")).toBe(true);
    expect(found("src/cli/program.ts", "run the gateway")).toBe(true);
    expect(found("src/app/manage/records/evidence-page.ts", "Refused by policy")).toBe(true);
    expect(found("src/contract/faults.ts", "export function fault")).toBe(false);
  });

  test.each(phrases)("“%s” occurs in no message", (phrase) => {
    const pattern = new RegExp(phrasePattern([phrase]), "gi");
    const found = suspects.flatMap(([file, text]) =>
      exemptTexts.has(`${file}: ${phrase}`)
        ? []
        : [...text.matchAll(pattern)].map(({ index }) => `${file}: ${text.slice(Math.max(0, index - 40), index + 80)}`),
    );
    expect(found).toEqual([]);
  });

  test("every exempt text occurs", () => {
    const isUsed = (exemption: string) => {
      const [file = "", phrase = ""] = exemption.split(": ");
      return phrasePattern([phrase]).test(texts(file));
    };
    expect([...exemptTexts].filter((exemption) => !isUsed(exemption))).toEqual([]);
  });
});

describe("portal", () => {
  const portalPhrases = tableRows("Banned in the portal").flatMap(([phrases]) => codeIn(phrases));
  // One line per file: JSX text may wrap inside a phrase.
  const portalTexts = portalCode.map((file) => [file, read(file).replace(/\s+(?:\*(?!\/) )?/g, " ")] as const);

  const anyPhrase = phrasePattern([...bannedPhrases, ...portalPhrases]);
  const suspects = portalTexts.filter(([, text]) => anyPhrase.test(text));

  test.each([...bannedPhrases, ...portalPhrases])("“%s” occurs in no label, message or comment", (phrase) => {
    const found = suspects.flatMap(([file, text]) => {
      const { index } = phrasePattern([phrase]).exec(text) ?? { index: -1 };
      return index < 0 ? [] : [`${file}: ${text.slice(Math.max(0, index - 40), index + 80)}`];
    });
    expect(found).toEqual([]);
  });

  test("titles, labels and buttons use sentence case", () => {
    const properNouns = new Set(
      "Anthropic Chat Claude Code Codex Gen Google Hub Key LibreChat Lines Messages Model OpenAI Python Schema Studio TypeScript".split(
        " ",
      ),
    );
    const isTitleCase = (word: string) => /^[A-Z][a-z]/.test(word) && !properNouns.has(word);
    const screens = portalCode.filter((file) => !/\.test\.tsx?$/.test(file));
    const found = screens.flatMap((file) =>
      [...read(file).matchAll(/\b(?:title|action|label|header)[=:] ?"([^"]+)"/g)]
        .map(([, text = ""]) => text)
        .filter((text) => text.split(/[.?:] /).some((sentence) => sentence.split(/[ /]/).slice(1).some(isTitleCase)))
        .map((text) => `${file}: ${text}`),
    );
    expect(found).toEqual([]);
  });
});

describe("tests", () => {
  const call =
    /(?:\b(?:test|it|describe)(?:\.\w+)*(?:\([^()]*\))?|\]\))\(\s*(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/g;
  const titlesOf = (file: string) =>
    [...read(file).matchAll(call)].map(([, plain, template]) => [file, plain ?? template ?? ""] as const);

  test(`a title has at most ${TITLE_LENGTH_MAX} characters`, () => {
    expect(testFiles.flatMap(titlesOf).filter(([, title]) => title.length > TITLE_LENGTH_MAX)).toEqual([]);
  });

  test("a title contains no banned phrase", () => {
    const banned = phrasePattern(bannedPhrases);
    expect(
      testCode
        .filter((file) => testFiles.includes(file))
        .flatMap(titlesOf)
        .filter(([, title]) => banned.test(title)),
    ).toEqual([]);
  });
});
