/** `npm run docs`: writes the documents that are generated from the code. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { PROJECT_ROOT } from "../src/settings/config.ts";
import { generatedDocuments } from "./documents.ts";

for (const [file, text] of generatedDocuments()) {
  writeFileSync(path.join(PROJECT_ROOT, file), text);
  console.log(file);
}
