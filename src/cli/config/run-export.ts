import { stringify } from "yaml";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { type Client, makeClient } from "../client.ts";
import { CliError, type Invocation } from "../command.ts";
import { eachPage } from "../run-api.ts";
import { configSchemaText } from "./config-file.ts";
import { isCollection, RESOURCES, workspacePath } from "./resources.ts";

/** `gateway config export`: the current state, in the form that `gateway apply` takes. */
export async function runConfigExport({ args, format, shell }: Invocation): Promise<number> {
  const client = makeClient(shell.env);
  const named = Array.isArray(args[0]) ? args[0].map(String) : [];
  const slugs = named.length > 0 ? named : await allWorkspaces(client);
  const workspaces: Record<string, JsonObject> = {};
  for (const slug of slugs) workspaces[slug] = await exportWorkspace(client, slug);
  const config = { version: 1, workspaces };
  shell.stdout.write(format === "json" ? `${JSON.stringify(config, null, 2)}\n` : stringify(config));
  return 0;
}

export async function runConfigSchema({ shell }: Invocation): Promise<number> {
  shell.stdout.write(configSchemaText());
  return 0;
}

async function allWorkspaces(client: Client): Promise<string[]> {
  const slugs: string[] = [];
  for await (const page of eachPage(client, "/manage/workspaces", {}))
    slugs.push(...page.filter(isJsonObject).map(({ slug }) => String(slug)));
  return slugs.toSorted();
}

async function exportWorkspace(client: Client, slug: string): Promise<JsonObject> {
  const workspace = await client.find(workspacePath(slug));
  if (workspace === undefined) throw new CliError(`There is no workspace ${slug}.`);
  const sections: Record<string, unknown> = { name: workspace["name"], currency: workspace["currency"] };
  for (const resource of RESOURCES) {
    const value = isCollection(resource)
      ? Object.fromEntries(
          [...(await resource.read(client, slug, "all"))].map(([name, { value: own }]) => [name, shorten(own)]),
        )
      : shorten(await resource.read(client, slug));
    if (Object.keys(value).length > 0) sections[resource.section] = value;
  }
  return sections;
}

/** Without what is not set: an omitted field has that meaning. */
function shorten(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, field]) => {
      const shown = isJsonObject(field) ? shorten(field) : field;
      const isEmptyObject = isJsonObject(shown) && Object.keys(shown).length === 0;
      return shown === null || shown === undefined || isEmptyObject ? [] : [[name, shown]];
    }),
  );
}
