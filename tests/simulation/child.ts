import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { RunResult } from "./seeds.ts";

const CHILD = path.join(import.meta.dirname, "simulate-child.ts");
/** Much short-lived garbage: a larger young generation halves its cost. */
const NODE_FLAGS = ["--max-semi-space-size=32"];
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export type Line = { readonly mutant: string } & (RunResult | { readonly problem: string });

/** Runs seeds in their own process and returns its output per program. */
export async function runChild(args: readonly string[]): Promise<Line[]> {
  const command = [...NODE_FLAGS, CHILD, ...args];
  // Mutants are thousands of copies that are loaded once: not worth caching.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, command, { env, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
