import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { quietShell } from "../../tests/support/shell.ts";
import { MANAGE_ROUTES } from "../contract/routes/manage.ts";
import { PEOPLE_ROUTES } from "../contract/routes/people.ts";
import { optionName, WHOLE_BODY } from "./command.ts";
import { buildProgram } from "./program.ts";
import { fieldsOf, fillPath } from "./run-api.ts";
import { API_COMMANDS } from "./table.ts";
import { LIFTED } from "./values.ts";

/** What commander says when it refuses; nothing has been sent then. */
async function refusal(args: readonly string[]): Promise<{ error: unknown; text: string }> {
  const { shell, stderr } = quietShell();
  const program = buildProgram("1.2.3", shell, () => {});
  const error: unknown = await program.parseAsync(args, { from: "user" }).then(
    () => undefined,
    (problem: unknown) => problem,
  );
  return { error, text: stderr() };
}

describe("typed wrongly", () => {
  test.each([
    [["key", "create", "demo", "--rpm", "1000001"], "1 to 1000000"],
    [["key", "create", "demo", "--env", "prod"], "live, test"],
    [["key", "create", "demo", "--expires", "tomorrow"], "ISO 8601"],
    [["key", "create", "demo", "--nonsense"], "--nonsense"],
    [["key", "create", "demo", "surplus"], "too many arguments"],
    [["key", "set", "key_x"], "at least one"],
    [["key", "rotate", "key_x", "--grace", "1w"], "7d"],
    [["member", "add", "demo", "a@b.eu", "--role", "king"], "owner, admin, member"],
    [["member", "policy", "demo", "--approval", "yes"], "on or off"],
    [["policy", "set", "demo"], "at least one"],
    [["policy", "set", "demo", "--floor", "L5"], "L4"],
    [["policy", "set", "demo", "--no-training"], "--no-training"],
    [["policy", "preview", "demo", "--scope", "all"], "callable, catalogue"],
    [["endpoint", "list", "--state", "out"], "aside"],
    [["key", "set", "key_x", "--floor", "L9"], "L4"],
    [["key", "create", "demo", "--zdr", "yes"], "on or off"],
    [["router", "put", "demo", "cheap"], "--file"],
    [["router", "restore", "demo", "cheap", "first"], "whole number"],
    [["wallet", "credit", "demo", "-5"], "positive"],
    [["wallet", "credit", "demo", "0"], "positive"],
    [["wallet", "credit", "demo", "1.0000000001"], "9 decimal places"],
    [["log", "list", "demo", "--limit", "1001"], "1 to 1000"],
    [["log", "list", "demo", "--status", "ok"], "100 to 599"],
    [["log", "export", "demo", "--format", "xml"], "csv, jsonl"],
    [["serve", "--workers", "0"], "1 to 256, or auto"],
  ])("%j is refused before anything is sent, and says what to write", async (args, named) => {
    const { error, text } = await refusal(args);
    expect(error instanceof CommanderError && error.exitCode > 0).toBe(true);
    expect(text).toContain(named);
  });
});

const ALL_ROUTES = [...MANAGE_ROUTES, ...PEOPLE_ROUTES];

test("every command calls a route of the management API, with fields that the route takes", () => {
  for (const command of API_COMMANDS) {
    const { method, path, sends } = command.call;
    const routeAt = (where: string) =>
      ALL_ROUTES.find((one) => one.method === method && shape(one.path) === shape(where));
    const route = routeAt(path.replace(/[[\]]/g, ""));
    expect(route, command.words).toBeDefined();
    // Without what may be left out it is another route.
    expect(routeAt(path.replace(/\[[^\]]*\]/g, "")), command.words).toBeDefined();
    for (const [, field = ""] of path.matchAll(/[?&](\w+)=\{/g))
      expect(takes(route?.query, [field]), `${command.words} ${field}`).toBe(true);
    if (sends === "nothing") continue;
    const fields = command.flags.map((flag) => flag.field).filter((field) => !path.includes(`{${field}}`));
    const taken = sends === "query" ? route?.query : route?.body;
    expect(taken, command.words).toBeDefined();
    for (const field of fields)
      if (field !== WHOLE_BODY) expect(takes(taken, field.split(".")), `${command.words} ${field}`).toBe(true);
  }
});

/** Routes without a row in the table of commands, and how a person comes by the same. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  manageExportRequests: "log export",
  manageIssuePlaygroundKey: "the portal: the playground",
  manageExportWalletEntries: "wallet export",
  manageShowEvidence: "evidence",
  manageTryDataClasses: "data-class test",
  manageRunProbes: "probe",
  manageShowOrder: "wallet orders",
  manageShowOwnKey: "provider keys",
  manageTestOwnKey: "provider test",
  peopleResetMember: "person reset-link",
  peopleChangeMe: "the portal: one's own account",
  peopleListSessions: "the portal: one's own account",
  peopleEndOtherSessions: "the portal: one's own account",
  peopleEndSession: "the portal: one's own account",
  peopleListPasskeys: "the portal: one's own account",
};

test("what the management API can do, the commands can, but for one's own account", () => {
  const called = new Set(
    API_COMMANDS.flatMap(({ call: { method, path }, bare }) =>
      [path.replace(/[[\]]/g, ""), path.replace(/\[[^\]]*\]/g, "")].flatMap((where) => [
        `${method} ${shape(where)}`,
        ...(bare === "read" ? [`GET ${shape(where)}`] : []),
      ]),
    ),
  );
  const without = ALL_ROUTES.filter(({ method, path }) => !called.has(`${method} ${shape(path)}`));
  expect(without.map(({ id }) => id).sort()).toEqual(Object.keys(ELSEWHERE).sort());
  const names = buildProgram("1.2.3", quietShell().shell, () => {}).commands.flatMap((group) => [
    group.name(),
    ...group.commands.map((command) => `${group.name()} ${command.name()}`),
  ]);
  for (const words of Object.values(ELSEWHERE)) if (!words.startsWith("the portal")) expect(names).toContain(words);
});

/** Whether a schema has a field, or a field inside one. */
function takes(schema: unknown, [name, ...inner]: readonly string[]): boolean {
  if (name === undefined) return true;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return takes(schema.unwrap(), [name, ...inner]);
  return schema instanceof z.ZodObject && name in schema.shape && takes(schema.shape[name], inner);
}

test("every group of commands says what it is about", () => {
  const groups = buildProgram("1.2.3", quietShell().shell, () => {}).commands;
  expect(groups.filter((group) => group.description() === group.name()).map((group) => group.name())).toEqual([]);
});

test("a flag can fill a field inside another, or the whole body", () => {
  const flags = [
    { flags: "--floor <l>", field: "policy.floor", says: "" },
    { flags: "--zdr <z>", field: "policy.zero_data_retention", says: "" },
    { flags: "--rpm <n>", field: "rpm", says: "" },
    { flags: "--file <f>", field: WHOLE_BODY, says: "" },
  ];
  const options = { floor: LIFTED, zdr: true, rpm: 5, file: { models: ["a/b"] } };
  expect(fieldsOf(flags, options)).toEqual({
    policy: { floor: null, zero_data_retention: true },
    rpm: 5,
    models: ["a/b"],
  });
});

test("an argument that lifts something is sent as null, not left out", () => {
  const { path, rest } = fillPath("/w/{workspace}/margin", [{ name: "workspace" }, { name: "margin" }], ["a", LIFTED]);
  expect([path, JSON.stringify(rest)]).toEqual(["/w/a/margin", '{"margin":null}']);
});

function shape(path: string): string {
  return path.replace(/\?.*$/, "").replace(/\{\w+\}/g, "{}");
}

test("a flag's value is found under commander's name for it", () => {
  expect(optionName("--allow-models <models>")).toBe("allowModels");
  expect(optionName("--no-training <on|off>")).toBe("noTraining");
  expect(optionName("--rpm <n>")).toBe("rpm");
});
