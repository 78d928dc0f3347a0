import { expect, test } from "vitest";
import { explainUnusableFolder } from "./start-failure.ts";

test("OPS-05 a folder that is not writable names the user of the gateway and of the image", () => {
  const text = explainUnusableFolder("/data", "EACCES", 10001);
  expect(text).toContain("DATA_DIR: /data cannot be used (EACCES): it is not writable for uid 10001");
  expect(text).toContain("chown -R 10001");
  expect(text).toContain("fsGroup");
  expect(explainUnusableFolder("/data", "EROFS", 1000)).toContain(
    "uid 1000, which runs this gateway (the image: uid 10001)",
  );
  for (const [code, uid] of [
    ["ENOTDIR", 1000],
    ["EACCES", undefined],
  ] as const)
    expect(explainUnusableFolder("/data", code, uid)).toBe(
      `DATA_DIR: /data cannot be used (${code}); set it to a writable folder`,
    );
});
