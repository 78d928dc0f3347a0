import { Socket } from "node:net";

/** Descriptor of the pipe to the primary process, which every worker is started with: behind the usual ones and the channel of node:cluster. */
export const PIPE_FD = 4;

export function pipeToPrimary(): Socket {
  return new Socket({ fd: PIPE_FD });
}
