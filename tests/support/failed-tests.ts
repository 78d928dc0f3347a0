import type { Reporter, TestModule } from "vitest/node";

/** Lists failed tests as the last lines of a run, where a cut log still shows them. */
export class FailedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const lines = modules.flatMap((file) => [
      ...file.errors().map(({ message }) => `${file.relativeModuleId}: ${firstLine(message)}`),
      ...[...file.children.allTests("failed")].map(
        (test) => `${file.relativeModuleId} > ${test.fullName}: ${firstLine(test.result().errors?.[0]?.message)}`,
      ),
    ]);
    if (lines.length > 0) process.stdout.write(`\nFailed tests:\n${lines.map((line) => `  ${line}\n`).join("")}`);
  }
}

function firstLine(message = ""): string {
  return message.split("\n", 1)[0] ?? "";
}
