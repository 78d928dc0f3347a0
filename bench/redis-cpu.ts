import { connect } from "node:net";

const REPLY_MS_MAX = 5_000;

/** CPU microseconds of a Redis since its start, system and user, from `INFO cpu`. */
export function cpuMicrosIn(info: string): number {
  const seconds = (name: string) => Number(new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1] ?? Number.NaN);
  return (seconds("used_cpu_sys") + seconds("used_cpu_user")) * 1e6;
}

/** Asks a Redis on loopback without a password. */
export function readRedisCpu(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let reply = "";
    const socket = connect(port, "127.0.0.1", () => socket.end("INFO cpu\r\nQUIT\r\n"));
    socket.setTimeout(REPLY_MS_MAX, () => socket.destroy(new Error("Redis does not answer")));
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      reply += text;
    });
    socket.on("error", reject);
    socket.on("end", () => {
      const micros = cpuMicrosIn(reply);
      if (Number.isFinite(micros)) resolve(micros);
      else reject(new Error("Redis does not report its CPU"));
    });
  });
}
