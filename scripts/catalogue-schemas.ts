import { writeFile } from "node:fs/promises";
import path from "node:path";
import { FILE_SCHEMA_NAMES, printSchema } from "../src/domain/catalogue/schema.ts";

/** Prints the JSON Schemas of the catalogue's files beside them: node scripts/catalogue-schemas.ts */
for (const name of FILE_SCHEMA_NAMES) {
  await writeFile(path.resolve(import.meta.dirname, `../catalogue/${name}.schema.json`), printSchema(name));
}
