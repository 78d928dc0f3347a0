import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { RunResult } from "./seeds.ts";

const CHILD = path.join(import.meta.dirname, "simulate-child.ts");
/** Garbage of many short lives: a larger nursery halves its cost. */
const NODE_FLAGS = ["--max-semi-space-size=32"];
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;

export type Line = { readonly mutant: string } & (RunResult | { readonly problem: string });

/** Runs seeds in a process of their own and answers what it says of each program. */
export async function runChild(args: readonly string[]): Promise<Line[]> {
  const command = [...NODE_FLAGS, CHILD, ...args];
  // Mutants are thousands of copies, which nobody loads again: not worth keeping.
  const env = { ...process.env, NODE_COMPILE_CACHE: undefined };
  const { stdout } = await promisify(execFile)(process.execPath, command, { env, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}
