import { readFileSync } from "node:fs";
import { CliError } from "../command.ts";

type Env = Readonly<Record<string, string | undefined>>;

const STDIN = 0;
const CTRL_C = "\u0003";
const BACKSPACES = ["\u007f", "\b"];

/** The key by flag, by environment, or asked for on the terminal; it is never printed. */
export async function askKey(env: Env, keyFile: unknown): Promise<string> {
  const input = typeof keyFile === "string" ? readKey(keyFile) : (fromEnv(env) ?? (await typed()));
  const key = input.trim();
  if (!/^[\x21-\x7e]{8,512}$/.test(key))
    throw new CliError("This is not a key of the gateway: keys begin with sk_svc_.");
  return key;
}

function fromEnv(env: Env): string | undefined {
  const file = env["GATEWAY_KEY_FILE"];
  if (file !== undefined && file !== "") return readKey(file);
  const value = env["GATEWAY_KEY"];
  return value === "" ? undefined : value;
}

function readKey(file: string): string {
  try {
    return readFileSync(file === "-" ? STDIN : file, "utf8");
  } catch {
    throw new CliError(`The key file ${file} cannot be read.`);
  }
}

function typed(): Promise<string> {
  if (!process.stdin.isTTY)
    throw new CliError("No key for the client. Set GATEWAY_KEY, or use --key-file <file> (- is standard input).");
  process.stderr.write("Gateway key (sk_svc_…, input hidden): ");
  process.stdin.setRawMode(true);
  return new Promise((resolve, reject) => {
    let key = "";
    const end = (finish: () => void) => {
      process.stdin.off("data", take);
      process.stdin.setRawMode(false);
      process.stdin.pause();
      process.stderr.write("\n");
      finish();
    };
    const take = (chunk: Buffer) => {
      for (const sign of chunk.toString("utf8")) {
        if (sign === "\r" || sign === "\n") return end(() => resolve(key));
        if (sign === CTRL_C) return end(() => reject(new CliError("Nothing was changed.")));
        key = BACKSPACES.includes(sign) ? key.slice(0, -1) : key + sign;
      }
    };
    process.stdin.on("data", take);
    process.stdin.resume();
  });
}
