import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FOLDERS = ["bench", "portal", "scripts", "src", "tests"];
const UNCHECKED = ["node_modules", "/dist/", "/.work/", "tests/samples/"];
/** A relative path as a whole string, and an absolute one into the folder of a user. */
const RELATIVE = /["'`]((?:\.\.\/)+[^"'`\s$]*)["'`]/g;
const OF_A_USER = /["'`](\/(?:home|root|Users|work)\/[^"'`]*)["'`]/g;
/** Generated at run time, a path below another base, or not a path of the file system. */
const EXEMPT = [
  "portal/vite.config.ts: ../.cache/vite",
  "src/app/surfaces/documents.ts: ../package.json",
  "src/app/manage/tenancy/tenancy.test.ts: ../x",
  "tests/architecture.test.ts: ../two.ts",
  "tests/deploy/package.test.ts: ../inference-gateway/bin/gateway",
  "tests/e2e/support/portal.ts: ../../../.cache/e2e",
  "tests/guides/markdown-page.test.ts: ../clients/README.md",
  "tests/guides/markdown-page.test.ts: ../guides/responses.md",
  "tests/guides/markdown-page.test.ts: ../decisions/0012-resilience.md",
  "tests/guides/markdown-page.test.ts: ../openapi-manage.json",
  "tests/people/sign-in.test.ts: ../me",
  "tests/portal-served.test.ts: ../portal/dist",
];

function outsidePaths(file: string, text: string): string[] {
  const relative = [...text.matchAll(RELATIVE)]
    .map(([, found = ""]) => found)
    // Joined with the root instead of the file's folder, a path out of the repository leads to nothing from here.
    .filter((found) => !existsSync(path.resolve(ROOT, path.dirname(file), found)) || isOutside(file, found));
  return [...relative, ...[...text.matchAll(OF_A_USER)].map(([, found = ""]) => found)];
}

function isOutside(file: string, found: string): boolean {
  return path.relative(ROOT, path.resolve(ROOT, path.dirname(file), found)).startsWith("..");
}

test("no file names a path outside the repository", () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => path.join(folder, name)),
  ).filter((file) => /\.(ts|tsx|mjs|sh)$/.test(file) && !UNCHECKED.some((part) => file.includes(part)));
  expect(files.length).toBeGreaterThan(1000);
  const found = files.flatMap((file) =>
    outsidePaths(file, readFileSync(path.join(ROOT, file), "utf8")).map((one) => `${file}: ${one}`),
  );
  expect(found.filter((one) => !EXEMPT.includes(one))).toEqual([]);
});

test("a path beside the repository, joined with its root or with the file's folder, is found", () => {
  const quoted = (text: string) => JSON.stringify(text);
  const beside = `../${"recordings"}/catalogue`;
  expect(outsidePaths("tests/a.test.ts", `path.resolve(ROOT, ${quoted(beside)})`)).toEqual([beside]);
  const above = `${"../".repeat(3)}tmp`;
  expect(outsidePaths("tests/edge/a.test.ts", `new URL(${quoted(above)}, import.meta.url)`)).toEqual([above]);
  expect(outsidePaths("tests/edge/a.test.ts", 'import { x } from "../support/gateway.ts";')).toEqual([]);
});
