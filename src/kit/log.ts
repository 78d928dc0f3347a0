/** The part of a logger that modules use: fields first, then a `component: event` message. */
export type Log = {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
};
