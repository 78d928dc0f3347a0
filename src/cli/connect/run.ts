import os from "node:os";
import path from "node:path";
import type { JsonObject } from "../../kit/json.ts";
import { baseUrl } from "../client.ts";
import { CliError, type Invocation, type Shell } from "../command.ts";
import { askKey } from "./ask-key.ts";
import type { ClientKind } from "./client-kind.ts";
import { CLIENT_NAMES, type ClientName } from "./client-names.ts";
import { CLIENTS } from "./clients.ts";
import { changeOf } from "./diff.ts";
import { backupOf, keepBackup, modeOf, putBack, readIfThere, removeFile, writePrivate } from "./files.ts";
import { pickModel, pickSmall, shownModels } from "./pick-model.ts";
import { Trial, type TrialResponse } from "./trial.ts";

type Target = { readonly name: ClientName; readonly kind: ClientKind; readonly file: string; readonly keyFile: string };

/** Points a client on this machine at the gateway, or takes that back. Needs a key, and no operator's token. */
export async function runConnect({ args, options, format, shell }: Invocation): Promise<number> {
  const name = CLIENT_NAMES.find((one) => one === args[0]);
  if (name === undefined) throw new CliError(`Must be one of ${CLIENT_NAMES.join(", ")}.`);
  const kind = CLIENTS[name];
  const { env, stdout } = shell;
  const file = kind.configFile(env, env["HOME"] || os.homedir());
  const keyFile = path.join(path.dirname(file), kind.keyFileName ?? "");
  const target: Target = { name, kind, file, keyFile };
  const print = (answer: JsonObject, text: readonly string[]) =>
    stdout.write(format === "json" ? `${JSON.stringify(answer, null, 2)}\n` : `${text.join("\n")}\n`);
  const isDry = options["dryRun"] === true;
  if (options["undo"] === true) return undo(target, isDry, print);
  const key = await askKey(env, options["keyFile"]);
  return connect(target, { env, key, isDry, model: options["model"] }, print);
}

type Print = (answer: JsonObject, text: readonly string[]) => void;

async function connect(
  { name, kind, file, keyFile }: Target,
  { env, key, isDry, model: named }: { env: Shell["env"]; key: string; isDry: boolean; model: unknown },
  print: Print,
): Promise<number> {
  const base = baseUrl(env);
  const trial = new Trial(base, key);
  // A wrong key or address is reported before anything is written.
  const models = await trial.models();
  const model = pickModel(models, kind, named);
  const settings = {
    base,
    key,
    keyFile,
    model,
    smallModel: pickSmall(models, kind, model),
    models: shownModels(models, model),
  };
  const before = readIfThere(file) ?? "";
  const after = inFile(file, () => kind.write(before, settings));
  const rivals = kind.rivals.filter((variable) => (env[variable] ?? "") !== "");
  const answer = { client: name, file, model: model.id, base_url: base, overridden_by: rivals };
  const warning = rivals.map((variable) => `Note: ${variable} is set in your shell and overrides the file. Unset it.`);
  if (isDry) {
    const change = changeOf(before, after);
    const keyLine = kind.keyFileName === null ? [] : [`The key would be written to ${keyFile}, readable only by you.`];
    print({ ...answer, dry_run: true, change }, [`${file} would change:`, change, ...keyLine, ...warning]);
    return 0;
  }
  const backup = keepBackup(file);
  if (kind.keyFileName !== null) writePrivate(keyFile, `${key}\n`);
  writePrivate(file, after);
  const served = await trial.send(kind, model.id).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error);
    throw new CliError(
      `${kind.title} is configured in ${file}, but the test request failed: ${why} Undo with \`gateway connect ${name} --undo\`.`,
    );
  });
  print({ ...answer, dry_run: false, backup, served }, [
    `${kind.title} now uses ${model.id} through ${base}.`,
    `Written: ${file} (previous version: ${backup})`,
    `Tested:  ${servedLine(served)}`,
    ...warning,
    `Start with \`${kind.begin(model.id)}\`. Other model: --model <id>. Undo: gateway connect ${name} --undo`,
  ]);
  return 0;
}

function servedLine({ request_id, model, provider, country, level, cost, currency }: TrialResponse): string {
  const price = cost === null ? "" : `, cost ${cost} ${currency ?? ""}`.trimEnd();
  return `${model ?? "a model"} was served by ${provider ?? "a provider"} in ${country ?? "an unknown country"} (${level ?? "no level"})${price}, request ${request_id ?? "unknown"}`;
}

function undo({ name, kind, file, keyFile }: Target, isDry: boolean, print: Print): number {
  const backup = backupOf(file);
  const original = readIfThere(backup);
  if (original === undefined)
    throw new CliError(`Nothing to undo: ${kind.title} was not configured by this command (no ${backup}).`);
  const now = readIfThere(file) ?? "";
  const taken = inFile(file, () => kind.undo(now, original));
  // Later changes stay; without any, the original text is restored byte for byte.
  const after = sameWords(taken, original) ? original : taken;
  const change = changeOf(now, after);
  if (!isDry) {
    putBack(file, after, modeOf(backup));
    removeFile(backup);
    if (kind.keyFileName !== null) removeFile(keyFile);
  }
  const lines = isDry ? [`${file} would change:`, change] : [`${kind.title} is restored: ${file}`];
  print({ client: name, file, dry_run: isDry, undone: !isDry, change }, lines);
  return 0;
}

/** Compares without whitespace, brackets and order: a restored member may move behind its neighbours. */
function sameWords(a: string, b: string): boolean {
  const words = (text: string) =>
    text
      .replace(/models:\s*$/, "")
      .split(/[\s{}[\],]+/)
      .sort()
      .join(" ")
      .trim();
  return words(a) === words(b);
}

/** Adds the file to an editing error. */
function inFile(file: string, edit: () => string): string {
  try {
    return edit();
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(`${file} was not changed: ${error.message} Fix the file, or configure the client manually.`);
  }
}
