/** Something sealed does not open. The message says what to do and nothing of what was in it. */
export class VaultError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "VaultError";
  }
}
