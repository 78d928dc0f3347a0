/** The licences of the packages whose code is in the release package: they require that their notices go with it. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { packagesThatRun } from "../deploy/image/packages.mjs";
import { NODE_PACKAGES } from "./launch.mjs";
import { ROOT } from "./setup.mjs";

const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;
const RULE = "=".repeat(100);

export function licenceTexts() {
  const inside = [...packagesThatRun(ROOT, ["src", "portal/src"])].filter((where) => !isNode(where)).sort();
  const head = "Inference Gateway contains code of these packages. LICENSE is the licence of the gateway itself.\n";
  return [head, ...inside.map(licenceText)].join(`\n${RULE}\n\n`);
}

/** Node itself is installed as a package of its own, with its licence. */
function isNode(where) {
  return NODE_PACKAGES.some((name) => where === `node_modules/${name}`);
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
