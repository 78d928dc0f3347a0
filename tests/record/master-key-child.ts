import { flushCompileCache } from "node:module";
import { MasterKeyRotation } from "../../src/app/manage/operation/master-key-rotation.ts";
import { MasterKeyFile } from "../../src/io/master-key-file.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { openVault } from "../../src/io/vault.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { systemTimers } from "../../src/kit/timers.ts";

/** Rotates the master key in a folder and kills itself at the numbered step. */
const [dataDir = "", killAt = ""] = process.argv.slice(2);

// Exits without time to write the compile cache.
flushCompileCache();

let steps = 0;
const step = () => {
  steps += 1;
  if (steps === Number(killAt)) process.kill(process.pid, "SIGKILL");
};

const store = await openSqlite(dataDir, systemClock);
const file = new MasterKeyFile(dataDir, step);
const keys = new MasterKeys((await file.open()).current);
const vault = openVault(keys, store.dataKeys);
const rotation = new MasterKeyRotation({
  keys,
  file,
  retiringKeyId: undefined,
  store: {
    dataKeys: store.dataKeys,
    // Before, inside and after each of its transactions.
    async change(work) {
      step();
      const answer = await store.change(async (writers) => {
        const done = await work(writers);
        step();
        return done;
      });
      step();
      return answer;
    },
  },
  vault,
  clock: systemClock,
  ids: createIdGenerator(() => systemClock.nowMs()),
  timers: systemTimers,
  warn: (_detail, message) => process.stderr.write(`${message}\n`),
});
await rotation.rotate();
await store.close();
process.exitCode = rotation.state.state === "idle" ? 0 : 1;
