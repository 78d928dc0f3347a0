/** The licences of the packages whose code is in the release package: they require that their notices go with it. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { runtimePackages } from "./runtime-packages.mjs";
import { ROOT } from "./setup.mjs";

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;
const RULE = "=".repeat(100);

export function licenceTexts() {
  const inside = [...runtimePackages(ROOT, ["src", "portal/src"])].sort();
  const head = "Inference Gateway contains code of these packages. LICENSE is the licence of the gateway itself.\n";
  return [head, ...inside.map(licenceText)].join(`\n${RULE}\n\n`);
}

function licenceText(where) {
  const folder = path.join(ROOT, where);
  const { name, version, license, author } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  const texts = files.map((file) => readFileSync(path.join(folder, file), "utf8").trim());
  const holder = typeof author === "string" ? author : author?.name;
  const without = `Published without a licence text${holder === undefined ? "" : `, by ${holder}`}.`;
  return `${name} ${version} (${license})\n\n${texts.length === 0 ? without : texts.join("\n\n")}\n`;
}
