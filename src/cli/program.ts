import { Argument, Command, Option } from "commander";
import { BATCH_ENDPOINTS } from "../contract/batches.ts";
import { exitOnSigtermAsPid1 } from "../kit/pid1-sigterm.ts";
import { type ApiCommand, type Flag, type Invocation, optionName, type Shell } from "./command.ts";
import { CLIENT_NAMES } from "./connect/client-names.ts";
import { groupCommands } from "./help-groups.ts";
import { addNodeConnectOptions } from "./node-connect-options.ts";
import { API_COMMANDS, logFilters } from "./table.ts";
import { evidencePeriod } from "./table-capture.ts";
import { entryFilters } from "./table-money.ts";
import { probeFlags } from "./table-proofs.ts";
import { oneOf, workers } from "./values.ts";

const GROUPS: Readonly<Record<string, string>> = {
  workspace: "create, list and configure workspaces",
  member: "members of a workspace and their personal keys",
  key: "API keys: create, rotate, revoke",
  wallet: "balance, ledger and payments of a workspace",
  policy: "which endpoints may serve a workspace",
  limits: "spend limits of workspaces, members and keys",
  rates: "exchange rates",
  margin: "margin on provider prices",
  alert: "alert rules, by email and webhook",
  responses: "stored responses",
  "master-key": "the key that encrypts secrets at rest",
  router: "named routing rules; explain and replay decisions",
  log: "the request log and usage",
  provider: "providers and their credentials",
  endpoint: "endpoints and their health",
  node: "tunnel nodes: your own machines",
  proof: "verification of endpoints for decisions and speech",
  audit: "audit log of management changes",
  token: "management tokens for programs",
  invitation: "invitations to a workspace",
  person: "accounts that can sign in",
  capture: "capture windows, which store requests and responses",
  catalogue: "catalogue files of models and prices",
  "data-class": "personal data and secrets in texts",
  cache: "replies kept for identical requests",
  batch: "batches of requests, with an API key",
  config: "configuration as a file, for `gateway apply`",
};

type Run = (invocation: Invocation) => Promise<number>;

/** The whole command line. What a command does is loaded when it is called, so that `--help` is quick. */
export function buildProgram(version: string, shell: Shell, done: (exitCode: number) => void): Command {
  const program = new Command("gateway")
    .description("Run the inference gateway, or manage a running one (GATEWAY_URL, default: the local one).")
    .version(version)
    .option("--json", "print one JSON document")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("Run with --help for usage.")
    .configureOutput({
      writeOut: (text) => void shell.stdout.write(text),
      writeErr: (text) => void shell.stderr.write(text),
    })
    .exitOverride();
  const groups = new Map<string, Command>();
  const place = (words: string): Command => {
    const [first = "", second] = words.split(" ");
    if (second === undefined) return program.command(first);
    const group = groups.get(first) ?? program.command(first).description(GROUPS[first] ?? first);
    groups.set(first, group);
    return group.command(second);
  };
  const bind = (command: Command, run: Run) =>
    command.action(async () => {
      const options: Readonly<Record<string, unknown>> = command.optsWithGlobals();
      const format = options["json"] === true ? "json" : "text";
      done(await run({ args: command.processedArgs, options, format, shell }));
    });
  addServe(place, bind);
  addMigrate(place("migrate"), bind);
  addMigrateStore(place("migrate-store"), bind);
  addCatalogue(place, bind);
  addBackup(place("backup"), bind);
  addDataClass(place, bind);
  addApply(place, bind);
  addConnect(place("connect"), bind);
  addBatches(place, bind);
  addSignIn(place, bind);
  for (const spec of API_COMMANDS) {
    addApi(place(spec.words), spec, bind);
    if (spec.words === "log show") addLogExport(place("log export"), bind);
    if (spec.words === "wallet orders") addWalletExport(place("wallet export"), bind);
    if (spec.words === "audit list") addEvidence(place("evidence"), bind);
    if (spec.words === "node create") addNodeConnect(place("node connect"), version, bind);
    if (spec.words === "proof history") addProbe(place("probe"), bind);
  }
  groupCommands(program);
  return program;
}

type Bind = (command: Command, run: Run) => void;

const WORKERS = "worker processes: a number, or auto for one per core (default: GATEWAY_WORKERS, else 1)";

function addServe(place: (words: string) => Command, bind: Bind): void {
  const command = place("serve")
    .description("run the gateway")
    .addOption(optionOf({ flags: "--workers <n>", field: "", says: WORKERS, read: workers }));
  bind(command, async ({ options, shell }) => {
    const { workers: count } = options;
    exitOnSigtermAsPid1();
    const { serve } = await import("../serve.ts");
    return serve(shell.env, typeof count === "string" ? count : undefined);
  });
}

function addBackup(command: Command, bind: Bind): void {
  command
    .description("back up the embedded store, the journal and the secrets of DATA_DIR while the gateway runs")
    .argument("<folder>", "destination: a new or empty folder")
    .option("--without-secrets", "exclude the operator token and the master key");
  bind(command, async (invocation) => (await import("./backup.ts")).runBackup(invocation));
}

function addMigrate(command: Command, bind: Bind): void {
  command.description("create and migrate the tables of DATABASE_URL and exit; gateways may run meanwhile");
  bind(command, async (invocation) => (await import("./migrate.ts")).runMigrate(invocation));
}

function addMigrateStore(command: Command, bind: Bind): void {
  command
    .description("copy the embedded store to an empty PostgreSQL database; the gateway must be stopped")
    .option("--to <url>", "database URL of the table owner: postgres://user:password@host:5432/database")
    .option("--to-file <file>", "file with the database URL; - is standard input")
    .option("--from <dir>", "folder with the embedded store (default: DATA_DIR)")
    .option("--dry-run", "copy and verify everything, then roll back");
  bind(command, async (invocation) => (await import("./migrate-store.ts")).runMigrateStore(invocation));
}

function addCatalogue(place: (words: string) => Command, bind: Bind): void {
  const command = place("catalogue check")
    .description("validate the catalogue files; exit 1 on errors")
    .argument("[dir]", "folder to check (default: GATEWAY_CATALOGUE_DIR, else the bundled catalogue)")
    .option("--warnings", "also list warnings");
  bind(command, async (invocation) => (await import("./catalogue-check.ts")).runCatalogueCheck(invocation));
}

function addDataClass(place: (words: string) => Command, bind: Bind): void {
  const trial = place("data-class test")
    .description("find personal data and secrets in a text; without a workspace nothing leaves this machine")
    .argument("[workspace]", "try the rules and own classes of a workspace, at its gateway")
    .option("--text <text>", "text to read")
    .option("--file <file>", "file to read; - is standard input")
    .option("--class <list>", "classes, separated by commas (default: personal,secret)")
    .option("--terms <file>", "terms of your own, one on each line; - is standard input")
    .option("--rules <file>", "JSON object: rules to try instead of those of the workspace");
  bind(trial, async (invocation) => (await import("./data-class-test.ts")).runDataClassTest(invocation));
  const detectors = place("data-class detectors").description("list the built-in detectors");
  bind(detectors, async (invocation) => (await import("./data-class-test.ts")).runDetectors(invocation));
}

function addApply(place: (words: string) => Command, bind: Bind): void {
  const apply = place("apply")
    .description("change workspaces, keys, policies, routers, limits, nodes and alerts to what a file says")
    .requiredOption("-f, --file <file>", "configuration in YAML or JSON; - is standard input")
    .option("--plan", "print the changes without making them")
    .option("--check", "print the changes without making them; exit 1 when there are any")
    .option("--prune", "also remove what the sections of the file do not list")
    .option("--secrets <file>", "new file for the secrets of new keys, nodes and webhooks, as JSON");
  bind(apply, async (invocation) => (await import("./config/run-apply.ts")).runApply(invocation));
  const exported = place("config export")
    .description("print the current configuration as a file for `gateway apply`, without secrets")
    .argument("[workspaces...]", "slugs (default: all workspaces)");
  bind(exported, async (invocation) => (await import("./config/run-export.ts")).runConfigExport(invocation));
  const schema = place("config schema").description("print the JSON schema of the file, for editors");
  bind(schema, async (invocation) => (await import("./config/run-export.ts")).runConfigSchema(invocation));
}

function addSignIn(place: (words: string) => Command, bind: Bind): void {
  const login = place("login").description("sign in on this machine with a code that you enter in a browser");
  bind(login, async (invocation) => (await import("./login.ts")).runLogin(invocation));
  const logout = place("logout").description("end the session of `gateway login`");
  bind(logout, async (invocation) => (await import("./login.ts")).runLogout(invocation));
  const whoami = place("whoami").description("show the account that commands run as");
  bind(whoami, async (invocation) => (await import("./login.ts")).runWhoami(invocation));
}

function addConnect(command: Command, bind: Bind): void {
  command
    .description("configure a client on this machine to use the gateway, and send a test request")
    .addArgument(new Argument("<client>", "client to configure").choices(CLIENT_NAMES))
    .option("--model <id>", "model to use (default: the best one the key can use)")
    .option("--key-file <file>", "file with the key; - is standard input (default: GATEWAY_KEY, else a prompt)")
    .option("--dry-run", "print the change without writing it")
    .option("--undo", "restore the previous configuration");
  bind(command, async (invocation) => (await import("./connect/run.ts")).runConnect(invocation));
}

function addBatches(place: (words: string) => Command, bind: Bind): void {
  const withKey = (command: Command) =>
    command.option("--key-file <file>", "file with the key; - is standard input (default: GATEWAY_KEY, else a prompt)");
  const create = withKey(place("batch create"))
    .description("upload a file of requests and run them")
    .argument("<file>", "JSON Lines: one request on each line")
    .option("--follow", "show the progress until the batch has ended");
  create.addOption(
    new Option("--endpoint <path>", "path that every line calls")
      .choices(BATCH_ENDPOINTS)
      .default("/v1/chat/completions"),
  );
  bind(create, async (invocation) => (await import("./batch.ts")).runBatchCreate(invocation));
  const list = withKey(place("batch list")).description("list the latest batches with their progress and cost");
  bind(list, async (invocation) => (await import("./batch.ts")).runBatchList(invocation));
  const show = withKey(place("batch show"))
    .description("show one batch; exit 1 when it failed")
    .argument("<batch>")
    .option("--follow", "show the progress until the batch has ended");
  bind(show, async (invocation) => (await import("./batch.ts")).runBatchShow(invocation));
  const cancel = withKey(place("batch cancel")).description("cancel a batch; running requests end").argument("<batch>");
  bind(cancel, async (invocation) => (await import("./batch.ts")).runBatchCancel(invocation));
  const results = withKey(place("batch results"))
    .description("print the results of a batch that has ended, as JSON Lines")
    .argument("<batch>")
    .option("--errors", "print the failed requests, and those that never ran");
  bind(results, async (invocation) => (await import("./batch.ts")).runBatchResults(invocation));
}

function addLogExport(command: Command, bind: Bind): void {
  command.description("export the request log to stdout").argument("<workspace>");
  const format: Flag = {
    flags: "--format <csv|jsonl>",
    field: "",
    says: "output format",
    read: oneOf("csv", "jsonl"),
  };
  command.addOption(optionOf(format).default("jsonl"));
  for (const flag of logFilters) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./log-export.ts")).runLogExport(invocation));
}

function addWalletExport(command: Command, bind: Bind): void {
  command.description("export the ledger of a workspace to stdout").argument("<workspace>");
  const format = { flags: "--format <csv|jsonl>", field: "", says: "output format", read: oneOf("csv", "jsonl") };
  command.addOption(optionOf(format).default("csv"));
  for (const flag of entryFilters) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./log-export.ts")).runWalletExport(invocation));
}

function addEvidence(command: Command, bind: Bind): void {
  command
    .description("report which providers served a workspace, where, and under which policy")
    .argument("<workspace>");
  for (const flag of evidencePeriod) command.addOption(optionOf(flag));
  command.option("--html <file>", "file for a printable page; - is standard output");
  bind(command, async (invocation) => (await import("./evidence.ts")).runEvidence(invocation));
}

function addProbe(command: Command, bind: Bind): void {
  command.description("verify endpoints for decisions and speech now; exit 1 when one fails");
  for (const flag of probeFlags) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./probe.ts")).runProbe(invocation));
}

function addNodeConnect(command: Command, version: string, bind: Bind): void {
  addNodeConnectOptions(command);
  bind(command, async (invocation) => (await import("./node-connect.ts")).runNodeConnect(invocation, version));
}

function addApi(command: Command, spec: ApiCommand, bind: Bind): void {
  command.description(spec.says);
  for (const { name, says, read, needed } of spec.args) {
    const argument = new Argument(needed === "never" ? `[${name}]` : `<${name}>`, says);
    command.addArgument(read === undefined ? argument : argument.argParser(read));
  }
  for (const flag of spec.flags) command.addOption(optionOf(flag));
  if (spec.words === "doctor")
    command.option("--components", "list the components in start order; needs no running gateway");
  bind(command, async (invocation) => {
    if (invocation.options["components"] === true)
      return (await import("./doctor-components.ts")).runDoctorComponents(invocation);
    const isBare = spec.flags.every((flag) => invocation.options[optionName(flag.flags)] === undefined);
    if (isBare && spec.bare === "refuse")
      command.error("error: specify at least one setting to change", { exitCode: 2 });
    return (await import("./run-api.ts")).runApi(spec, invocation);
  });
}

function optionOf({ flags, says, read, needed }: Flag): Option {
  const option = new Option(flags, says).makeOptionMandatory(needed === "always");
  // `--no-training on` takes a value: it is a flag of its own, not the negation of `--training`.
  option.negate = false;
  return read === undefined ? option : option.argParser(read);
}
