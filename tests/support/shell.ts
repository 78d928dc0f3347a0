import { Writable } from "node:stream";
import type { Shell } from "../../src/cli/command.ts";

/** A shell without a terminal, and its output so far. */
export function quietShell(env: Shell["env"] = {}): { shell: Shell; stdout(): string; stderr(): string } {
  const [stdout, stderr] = [collector(), collector()];
  return { shell: { env, stdout: stdout.stream, stderr: stderr.stream }, stdout: stdout.text, stderr: stderr.text };
}

function collector() {
  const pieces: Buffer[] = [];
  const stream = new Writable({
    write(piece: Buffer, _encoding, done) {
      pieces.push(piece);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(pieces).toString("utf8") };
}
