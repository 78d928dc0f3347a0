import { Argument, Command, Option } from "commander";
import { exitOnSigtermAsPid1 } from "../kit/pid1-sigterm.ts";
import { type ApiCommand, type Flag, type Invocation, optionName, type Shell } from "./command.ts";
import { API_COMMANDS, logFilters } from "./table.ts";
import { evidencePeriod } from "./table-capture.ts";
import { entryFilters } from "./table-money.ts";
import { probeFlags } from "./table-proofs.ts";
import { list, oneOf, wholeNumber, workers } from "./values.ts";

const GROUPS: Readonly<Record<string, string>> = {
  workspace: "workspaces",
  member: "members of a workspace and their personal keys",
  key: "API keys",
  wallet: "money of a workspace",
  policy: "what a workspace demands of providers",
  limits: "what workspaces, members and keys may spend",
  rates: "exchange rates",
  margin: "what is added to providers' prices",
  alert: "alert rules, by mail and webhook",
  responses: "responses that are stored",
  "master-key": "the key of secrets at rest",
  router: "named choices between models, and what they would decide",
  log: "the request log",
  provider: "inference providers",
  endpoint: "where models are served, and how each place is doing",
  node: "machines of a workspace's own, which serve it at no cost",
  proof: "which endpoints were seen to answer on decisions and speech",
  audit: "who changed what",
  token: "what programs manage a workspace with",
  invitation: "invitations to a workspace",
  person: "people who can sign in",
  capture: "windows of time in which requests and answers are kept",
  catalogue: "the files models and prices come from",
};

type Run = (invocation: Invocation) => Promise<number>;

/** The whole command line. What a command does is loaded when it is called, so that `--help` is quick. */
export function buildProgram(version: string, shell: Shell, done: (exitCode: number) => void): Command {
  const program = new Command("gateway")
    .description("Inference gateway: run it, and manage a running one (GATEWAY_URL, default the local one).")
    .version(version)
    .option("--json", "print one JSON document")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("Add --help for what it takes.")
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
  addMigrateStore(place("migrate-store"), bind);
  addCatalogue(place, bind);
  addBackup(place("backup"), bind);
  addConnect(place("connect"), bind);
  addSignIn(place, bind);
  for (const spec of API_COMMANDS) {
    addApi(place(spec.words), spec, bind);
    if (spec.words === "log show") addLogExport(place("log export"), bind);
    if (spec.words === "wallet orders") addWalletExport(place("wallet export"), bind);
    if (spec.words === "audit list") addEvidence(place("evidence"), bind);
    if (spec.words === "node create") addNodeConnect(place("node connect"), version, bind);
    if (spec.words === "proof history") addProbe(place("probe"), bind);
  }
  return program;
}

type Bind = (command: Command, run: Run) => void;

const WORKERS = "processes that serve: a number, or auto for one on each core (default: GATEWAY_WORKERS, else 1)";

function addServe(place: (words: string) => Command, bind: Bind): void {
  const command = place("serve")
    .description("run the gateway")
    .addOption(optionOf({ flags: "--workers <n>", field: "", says: WORKERS, read: workers }));
  bind(command, async ({ options, shell }) => {
    const { workers: count } = options;
    exitOnSigtermAsPid1();
    const { serve } = await import("../serve.ts");
    await serve(shell.env, typeof count === "string" ? count : undefined);
    return 0;
  });
}

function addBackup(command: Command, bind: Bind): void {
  command
    .description("copy the embedded store, the journal and the secrets of DATA_DIR, while the gateway works")
    .argument("<folder>", "where the copy goes: a new or empty folder")
    .option("--without-secrets", "leave the operator token and the master key out");
  bind(command, async (invocation) => (await import("./backup.ts")).runBackup(invocation));
}

function addMigrateStore(command: Command, bind: Bind): void {
  command
    .description("copy everything of the embedded store to an empty PostgreSQL; the gateway must be stopped")
    .option("--to <url>", "the database, as the owner of its tables: postgres://user:password@host:5432/database")
    .option("--to-file <file>", "file with that address; - is standard input")
    .option("--from <dir>", "folder with the embedded store (default: DATA_DIR)")
    .option("--dry-run", "copy and check everything, and take it back");
  bind(command, async (invocation) => (await import("./migrate-store.ts")).runMigrateStore(invocation));
}

function addCatalogue(place: (words: string) => Command, bind: Bind): void {
  const command = place("catalogue check")
    .description("say what is wrong with the catalogue's files; exit 1 when anything is")
    .argument("[dir]", "folder to check (default: GATEWAY_CATALOGUE_DIR, else the shipped one)")
    .option("--warnings", "also list what is allowed but suspicious");
  bind(command, async (invocation) => (await import("./catalogue-check.ts")).runCatalogueCheck(invocation));
}

function addSignIn(place: (words: string) => Command, bind: Bind): void {
  const login = place("login").description("sign in on this machine, by a code that you enter in a browser");
  bind(login, async (invocation) => (await import("./login.ts")).runLogin(invocation));
  const logout = place("logout").description("end the session that `gateway login` began");
  bind(logout, async (invocation) => (await import("./login.ts")).runLogout(invocation));
  const whoami = place("whoami").description("say in whose name commands are run");
  bind(whoami, async (invocation) => (await import("./login.ts")).runWhoami(invocation));
}

function addConnect(command: Command, bind: Bind): void {
  command
    .description("point a client on this machine at the gateway, keep what was there, and send one test request")
    .addArgument(new Argument("<client>", "which client").choices(["claude-code", "codex", "opencode", "continue"]))
    .option("--model <id>", "model to use (default: the best the key may use)")
    .option("--key-file <file>", "file with the key; - is standard input (default: GATEWAY_KEY, else it asks)")
    .option("--dry-run", "print the change and write nothing")
    .option("--undo", "put back what was there before");
  bind(command, async (invocation) => (await import("./connect/run.ts")).runConnect(invocation));
}

function addLogExport(command: Command, bind: Bind): void {
  command.description("write the request log to stdout, all pages").argument("<workspace>");
  const format: Flag = {
    flags: "--format <csv|jsonl>",
    field: "",
    says: "form of the rows",
    read: oneOf("csv", "jsonl"),
  };
  command.addOption(optionOf(format).default("jsonl"));
  for (const flag of logFilters) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./log-export.ts")).runLogExport(invocation));
}

function addWalletExport(command: Command, bind: Bind): void {
  command.description("write the ledger of a workspace to stdout, all pages").argument("<workspace>");
  const format = { flags: "--format <csv|jsonl>", field: "", says: "form of the rows", read: oneOf("csv", "jsonl") };
  command.addOption(optionOf(format).default("csv"));
  for (const flag of entryFilters) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./log-export.ts")).runWalletExport(invocation));
}

function addEvidence(command: Command, bind: Bind): void {
  command.description("report who served a workspace, where and under which policy").argument("<workspace>");
  for (const flag of evidencePeriod) command.addOption(optionOf(flag));
  command.option("--html <file>", "write it as a page to print; - is standard output");
  bind(command, async (invocation) => (await import("./evidence.ts")).runEvidence(invocation));
}

function addProbe(command: Command, bind: Bind): void {
  command.description("ask endpoints now whether they answer on decisions and speech; exit 1 when one does not");
  for (const flag of probeFlags) command.addOption(optionOf(flag));
  bind(command, async (invocation) => (await import("./probe.ts")).runProbe(invocation));
}

function addNodeConnect(command: Command, version: string, bind: Bind): void {
  command
    .description("connect this machine's local server to the gateway as a node, until stopped")
    .requiredOption("--url <url>", "address of the gateway (https://…)")
    .option("--token <token>", "token of the node; rather use one of the two that do not show it to others here:")
    .option("--token-file <file>", "file with the token; - is standard input (default: GATEWAY_NODE_TOKEN)")
    .requiredOption("--upstream <url>", "address of the local server, with /v1, such as http://127.0.0.1:11434/v1")
    .option("--upstream-key-file <file>", "file with the key that the local server asks for")
    .addOption(
      optionOf({
        flags: "--capacity <n>",
        field: "",
        says: "requests it takes at once",
        read: wholeNumber(1, 1024),
      }).default(8),
    )
    .addOption(optionOf({ flags: "--models <ids>", field: "", says: "only these models, by commas", read: list }));
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
    if (isBare && spec.bare === "refuse") command.error("error: name at least one setting to change", { exitCode: 2 });
    return (await import("./run-api.ts")).runApi(spec, invocation);
  });
}

function optionOf({ flags, says, read, needed }: Flag): Option {
  const option = new Option(flags, says).makeOptionMandatory(needed === "always");
  // `--no-training on` takes a value: it is a flag of its own, not the negation of `--training`.
  option.negate = false;
  return read === undefined ? option : option.argParser(read);
}
