import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import type { JsonObject } from "../../kit/json.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { type Client, makeClient } from "../client.ts";
import { CliError, type Invocation, UsageError } from "../command.ts";
import { readConfigFile } from "./config-file.ts";
import { type Change, type ConfigPlan, planConfig, showValue } from "./plan.ts";

/** `gateway apply`: makes the gateway agree with a file, or tells the difference. */
export async function runApply({ options, format, shell }: Invocation): Promise<number> {
  const { file, secrets } = options;
  const isChecking = options["check"] === true;
  const isPlanning = isChecking || options["plan"] === true;
  const config = readConfigFile(String(file));
  const client = makeClient(shell.env);
  const plan = await planConfig(client, config, options["prune"] === true);
  const { changes } = plan;
  if (!isPlanning && typeof secrets !== "string" && changes.some(({ secret }) => secret !== undefined))
    throw new UsageError(
      "The plan creates keys, nodes or webhooks, whose secrets are shown only once. Name a new file for them with --secrets. Nothing was changed.",
    );
  if (format === "text") shell.stdout.write(`${planLines(plan).join("\n")}\n`);
  if (!isPlanning && changes.length > 0) {
    await applyAll(client, changes, typeof secrets === "string" ? secrets : undefined);
    if (format === "text") shell.stdout.write(`Applied ${pluralize(changes.length, "change")}.\n`);
  }
  if (format === "json") shell.stdout.write(`${JSON.stringify(planDocument(plan, !isPlanning), null, 2)}\n`);
  return isChecking && changes.length > 0 ? 1 : 0;
}

async function applyAll(client: Client, changes: readonly Change[], secretsFile: string | undefined): Promise<void> {
  const needsFile = secretsFile !== undefined && changes.some(({ secret }) => secret !== undefined);
  const secrets = needsFile ? new SecretsFile(secretsFile) : undefined;
  try {
    for (const [done, change] of changes.entries()) {
      const { method, path, body } = change.call;
      const answer = await client.send(method, path, body).catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        const left = `Changes applied before it: ${done} of ${changes.length}. Correct the file and apply it again.`;
        throw new CliError(`${change.workspace}: ${subject(change)}: ${reason}\n${left}`);
      });
      if (change.secret !== undefined) secrets?.add(change, answer[change.secret]);
    }
  } finally {
    secrets?.close();
  }
}

/** Opened before the first change and written after each, so that no secret is lost when a later change fails. */
class SecretsFile {
  readonly #descriptor: number;
  readonly #byWorkspace: Record<string, Record<string, unknown>> = {};

  constructor(file: string) {
    try {
      this.#descriptor = openSync(file, "wx", 0o600);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new CliError(`--secrets: ${file} cannot be created (${reason}). Nothing was changed.`);
    }
  }

  add(change: Change, secret: unknown): void {
    const own = this.#byWorkspace[change.workspace] ?? {};
    this.#byWorkspace[change.workspace] = { ...own, [subject(change)]: secret };
    ftruncateSync(this.#descriptor);
    writeSync(this.#descriptor, `${JSON.stringify(this.#byWorkspace, null, 2)}\n`, 0);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

const subject = ({ kind, name }: Pick<Change, "kind" | "name">) => (name === null ? kind : `${kind} ${name}`);

const SIGNS = { create: "+", change: "~", remove: "-" } as const;

function planLines({ changes, unlisted, warnings }: ConfigPlan): string[] {
  const byWorkspace = Map.groupBy(changes, ({ workspace }) => workspace);
  const lines = [...byWorkspace].flatMap(([workspace, own]) => [workspace, ...own.flatMap(changeLines), ""]);
  const others = unlisted.map((thing) => `  ${thing.workspace}: ${subject(thing)}`);
  const count = (action: Change["action"]) => changes.filter((change) => change.action === action).length;
  const counts = `${count("create")} to create, ${count("change")} to change, ${count("remove")} to remove.`;
  return [
    ...lines,
    ...(others.length === 0 ? [] : ["Not in the file; --prune would remove:", ...others, ""]),
    ...warnings.map((warning) => `warning: ${warning}`),
    changes.length === 0 ? "The gateway agrees with the file." : `Plan: ${counts}`,
  ];
}

function changeLines(change: Change): string[] {
  const fields = change.fields.map(({ path, from, to }) => `      ${path}: ${fieldText(change, from, to)}`);
  return [`  ${SIGNS[change.action]} ${subject(change)}`, ...fields];
}

function fieldText({ kind, action }: Change, from: unknown, to: unknown): string {
  const show = kind === "data class" ? showCount : showValue;
  return action === "create" ? show(to) : `${show(from)} → ${show(to)}`;
}

/** What a class looks for may be confidential, and the plan is printed in logs of pipelines. */
const showCount = (value: unknown): string => String(Array.isArray(value) ? value.length : 0);

function planDocument({ changes, unlisted, warnings }: ConfigPlan, isApplied: boolean): JsonObject {
  return {
    applied: isApplied,
    changes: changes.map(({ workspace, kind, name, action, fields }) => ({
      workspace,
      kind,
      name,
      action,
      fields: kind === "data class" ? fields.map((field) => ({ path: field.path })) : fields,
    })),
    unlisted,
    warnings,
  };
}
