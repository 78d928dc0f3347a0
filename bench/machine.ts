import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { z } from "zod";
import type { Machine } from "./results.ts";

const packageSchema = z.object({ version: z.string() });

export function readMachine(root: string, pinned: boolean): Machine {
  const processors = os.cpus();
  return {
    processor: processors[0]?.model.trim() || os.arch(),
    cores: processors.length,
    memoryBytes: os.totalmem(),
    system: systemName(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    pinned,
    versions: {
      Node: process.version.slice(1),
      undici: packageSchema.parse(manifest(path.join(root, "node_modules/undici"))).version,
      nginx: firstMatch("nginx", ["-v"], /nginx\/(\S+)/),
      wrk: firstMatch("wrk", ["-v"], /^wrk (?:debian\/)?(\S+)/),
      commit: firstMatch("git", ["-C", root, "rev-parse", "--short", "HEAD"], /^(\w+)/),
    },
  };
}

function manifest(folder: string): unknown {
  return JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
}

function systemName(): string {
  try {
    return /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? os.type();
  } catch {
    return os.type();
  }
}

function firstMatch(program: string, args: readonly string[], pattern: RegExp): string {
  const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  return pattern.exec(stdout ?? "")?.[1] ?? pattern.exec(stderr ?? "")?.[1] ?? "unknown";
}
