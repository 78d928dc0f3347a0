/** Where a part of the gateway says what it does, and what goes wrong. */
export type Log = {
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
};
