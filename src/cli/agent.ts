import { Command } from "commander";
import type { Shell } from "./command.ts";
import { exitCodeOf } from "./exit-code.ts";
import { runNodeConnect } from "./node-connect.ts";
import { addNodeConnectOptions } from "./node-connect-options.ts";

/** Older versions of Node have no server side of HTTP/2 for an open connection. */
const NODE_MIN = { major: 20, minor: 12 };

/** The node agent: `gateway node connect` as a program of its own, which the gateway serves as one file. */
export async function runAgent(argv: readonly string[], version: string, shell: Shell): Promise<number> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < NODE_MIN.major || (major === NODE_MIN.major && minor < NODE_MIN.minor)) {
    shell.stderr.write(
      `error: The agent requires Node.js ${NODE_MIN.major}.${NODE_MIN.minor} or later; this is ${process.versions.node}.\n`,
    );
    return 1;
  }
  let exitCode = 0;
  const command = addNodeConnectOptions(new Command("agent.mjs"))
    .version(version)
    .option("--json", "print one JSON document per line")
    .showHelpAfterError("Run with --help for usage.")
    .exitOverride();
  command.action(async () => {
    const options: Readonly<Record<string, unknown>> = command.opts();
    const format = options["json"] === true ? "json" : "text";
    exitCode = await runNodeConnect({ args: [], options, format, shell }, version);
  });
  try {
    await command.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    return exitCodeOf(error, shell);
  }
}
