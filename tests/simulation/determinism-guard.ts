import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/** From here on this process has no clock, timers, randomness or sockets but those it is given. */
export function installDeterminismGuard(): void {
  const forbidden = (what: string) => (): never => {
    throw new Error(`${what} was used in the simulation: take it from what is handed in`);
  };
  const RealDate = Date;
  class GuardedDate extends RealDate {
    constructor(...given: [value?: number | string | Date]) {
      const [value] = given;
      if (value === undefined) throw new Error("new Date() was used in the simulation: take the time from the clock");
      super(value);
    }
    static override now = forbidden("Date.now");
  }
  Object.assign(globalThis, {
    Date: GuardedDate,
    setTimeout: forbidden("setTimeout"),
    setInterval: forbidden("setInterval"),
    setImmediate: forbidden("setImmediate"),
    fetch: forbidden("fetch"),
  });
  Math.random = forbidden("Math.random");
  performance.now = forbidden("performance.now");
  net.Socket.prototype.connect = forbidden("a socket");
  for (const name of ["randomUUID", "randomBytes", "randomFillSync", "randomInt"] as const)
    Object.assign(crypto, { [name]: forbidden(`crypto.${name}`) });
  syncBuiltinESMExports();
}
